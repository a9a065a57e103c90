package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// A bundle, unpacked and started as its manifest says, answers a question over MCP.
func TestBundle(t *testing.T) {
	_, out := ofProgram(t)
	bundle := filepath.Join(out, "mcpb", "memcore-"+testVersion+"-"+runtime.GOOS+"-"+runtime.GOARCH+".mcpb")
	folder := t.TempDir()
	unzip(t, bundle, folder)
	text, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	require.NoError(t, err)
	var manifest struct {
		Server struct {
			Config struct {
				Command string   `json:"command"`
				Args    []string `json:"args"`
			} `json:"mcp_config"`
		} `json:"server"`
	}
	require.NoError(t, json.Unmarshal(text, &manifest))

	m := newMachine(t)
	fill := strings.NewReplacer("${__dirname}", folder, "${user_config.folder}", m.work)
	var args []string
	for _, arg := range manifest.Server.Config.Args {
		args = append(args, fill.Replace(arg))
	}
	require.NoError(t, newMachine(t).command(t.Context(), fill.Replace(manifest.Server.Config.Command), "version").Run())
	server := m.command(t.Context(), fill.Replace(manifest.Server.Config.Command), args...)
	server.Dir, server.Stdin = "/", nil // an application starts it anywhere
	require.Contains(t, ask(t, server), "5433")
}

// ask asks a server for the port in the notes.
func ask(t *testing.T, server *exec.Cmd) string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: server}, nil)
	require.NoError(t, err)
	defer session.Close()
	for _, tool := range []string{"refresh_memory", "search_memory"} {
		arguments := map[string]any{}
		if tool == "search_memory" {
			arguments["query"] = "port of the staging database"
		}
		answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		require.NoError(t, err)
		require.Falsef(t, answer.IsError, "%s: %v", tool, answer.Content)
		if tool == "search_memory" {
			text, err := json.Marshal(answer.Content)
			require.NoError(t, err)
			return string(text)
		}
	}
	return ""
}

func unzip(t *testing.T, bundle, folder string) {
	t.Helper()
	z, err := zip.OpenReader(bundle)
	require.NoError(t, err)
	defer z.Close()
	for _, entry := range z.File {
		r, err := entry.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, write(folder, file{entry.Name, data, entry.Mode()}))
	}
}

// The command line of MCPB takes every manifest, and unpacks a program that runs.
func TestBundleTool(t *testing.T) {
	need(t, "mcpb")
	_, out := ofProgram(t)
	bundles, err := filepath.Glob(filepath.Join(out, "mcpb", "*.mcpb"))
	require.NoError(t, err)
	require.Len(t, bundles, len(platforms))
	m := newMachine(t)
	for _, bundle := range bundles {
		folder := t.TempDir()
		m.run("mcpb", "unpack", bundle, folder)
		m.run("mcpb", "validate", filepath.Join(folder, "manifest.json"))
		if strings.HasSuffix(bundle, runtime.GOOS+"-"+runtime.GOARCH+".mcpb") {
			m.run(filepath.Join(folder, "server", "memcore"), "version")
		}
	}
}
