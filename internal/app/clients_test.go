package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/mcp"
)

// Two clients of one daemon ask the same twice, in every order, over HTTP, hooks and MCP. Each gets
// the same answers as alone.
func TestClientsDoNotAffectEachOther(t *testing.T) {
	t.Setenv("MEMCORE_HOOK_LOG", "false") // what one client says is memory for the others
	d := newTestDaemon(t)
	alone := map[string][2]string{}
	for name, ask := range d.clients("alone") {
		alone[name] = [2]string{ask(), ask()}
	}
	require.Contains(t, alone["HTTP"][0], "Run gofmt.")
	require.Contains(t, alone["HTTP"][0], "red panda", "sub/BEANS.md is retrieved")
	require.Equal(t, alone["HTTP"][0], alone["HTTP"][1])
	require.Contains(t, alone["hook"][0], "Run gofmt.")
	require.NotContains(t, alone["hook"][1], "Run gofmt.", "the session has it")
	require.Contains(t, alone["MCP"][0], "red panda")
	require.Equal(t, alone["MCP"][0], alone["MCP"][1])

	run := 0
	for first := range alone {
		for second := range alone {
			for _, order := range []string{"aabb", "abab", "abba", "bbaa", "baba", "baab"} {
				run++
				ask := map[rune]func() string{'a': d.clients(fmt.Sprint("a", run))[first], 'b': d.clients(fmt.Sprint("b", run))[second]}
				road, asked := map[rune]string{'a': first, 'b': second}, map[rune]int{}
				for _, client := range order {
					require.Equal(t, alone[road[client]][asked[client]], strings.ReplaceAll(ask[client](), fmt.Sprint("claude-code-", string(client), run), "claude-code-alone"), "%s and %s in the order %s", first, second, order)
					asked[client]++
				}
			}
		}
	}
}

// A testDaemon serves one workspace in this process.
type testDaemon struct {
	t       *testing.T
	s       *Service
	http    *httptest.Server
	mcp     *httptest.Server
	project string
}

func newTestDaemon(t *testing.T) *testDaemon {
	t.Helper()
	s := newTestService(t)
	s.Settings.FolderTrust.Enabled = false
	for name, text := range map[string]string{
		"BEANS.md": "Answer briefly.", "sub/BEANS.md": "# Sub\n\nThe mascot of the sub project is a red panda.",
		".beans/rules/go.md": "---\nglobs: '*.go'\n---\nRun gofmt.",
	} {
		file := filepath.Join(s.Project, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	require.NoError(t, filepath.WalkDir(s.Project, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour))) // else queries read it again
	}))
	_, err := s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	d := &testDaemon{t: t, s: s, project: s.Project}
	api := httpapi.New(httpapi.Options{
		Open:        func(context.Context, string) (httpapi.Workspace, error) { return sharedService{s}, nil },
		WorkspaceOf: func(string) (string, error) { return s.Project, nil },
	}, func() {})
	d.http = httptest.NewServer(api.Handler())
	memory, err := s.MCP()
	require.NoError(t, err)
	d.mcp = httptest.NewServer(mcp.New(memory, mcp.Options{Poll: -1}).Handler(""))
	t.Cleanup(func() { d.http.Close(); d.mcp.Close(); api.Close() })
	return d
}

// A sharedService stays open until the test ends and does no background work, so that answers do
// not depend on time.
type sharedService struct{ *Service }

func (sharedService) Watch(ctx context.Context, _ func(core.IndexReport, error), _ func(error)) error {
	<-ctx.Done()
	return ctx.Err()
}

func (sharedService) Close() error   { return nil }
func (sharedService) Outdated() bool { return false }

const mascot = "What is the mascot of the sub project?"

// clients returns a client of each road. Each call asks all the questions of its road.
func (d *testDaemon) clients(session string) map[string]func() string {
	begun := false
	return map[string]func() string{
		"HTTP": func() string {
			return d.post("/v1/context", map[string]any{"paths": []string{"sub/x.go"}}) + d.post("/v1/context", map[string]any{}) +
				d.post("/v1/retrieve", map[string]any{"query": mascot}) + d.post("/v1/search", map[string]any{"query": mascot})
		},
		"hook": func() string {
			var start string
			if !begun {
				start, begun = d.hook(session, "SessionStart", map[string]any{"source": "startup"}), true
			}
			return start + d.hook(session, "UserPromptSubmit", map[string]any{"prompt": mascot}) +
				d.hook(session, "PostToolUse", map[string]any{"tool_name": "Read", "tool_input": map[string]any{"file_path": filepath.Join(d.project, "sub", "x.go")}})
		},
		"MCP": d.mcpClient(),
	}
}

var took = regexp.MustCompile(`"took":\{[^}]*\}`)

func (d *testDaemon) post(path string, body map[string]any) string {
	d.t.Helper()
	body["workspace"] = d.project
	data, err := json.Marshal(body)
	require.NoError(d.t, err)
	response, err := http.Post(d.http.URL+path, "application/json", bytes.NewReader(data))
	require.NoError(d.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(d.t, err)
	require.Equal(d.t, http.StatusOK, response.StatusCode, string(text))
	return took.ReplaceAllString(string(text), `"took":{}`)
}

// hook runs a hook as 'memcore hook' does with the daemon's answer.
func (d *testDaemon) hook(session, event string, more map[string]any) string {
	d.t.Helper()
	more["session_id"], more["cwd"], more["hook_event_name"] = session, d.project, event
	data, err := json.Marshal(more)
	require.NoError(d.t, err)
	var answer httpapi.HookReply
	text := d.post("/v1/hook", map[string]any{"agent": "claude-code", "event": json.RawMessage(data)})
	require.NoError(d.t, json.Unmarshal([]byte(text), &answer))
	return answer.Reply
}

func (d *testDaemon) mcpClient() func() string {
	var client *sdk.ClientSession
	return func() string {
		if client == nil {
			var err error
			client, err = sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(d.t.Context(), &sdk.StreamableClientTransport{Endpoint: d.mcp.URL + "/mcp"}, nil)
			require.NoError(d.t, err)
			d.t.Cleanup(func() { client.Close() })
		}
		found, err := client.CallTool(d.t.Context(), &sdk.CallToolParams{Name: "search_memory", Arguments: map[string]any{"query": mascot}})
		require.NoError(d.t, err)
		context, err := client.ReadResource(d.t.Context(), &sdk.ReadResourceParams{URI: "memcore:///context"})
		require.NoError(d.t, err)
		return strings.Join([]string{found.Content[0].(*sdk.TextContent).Text, context.Contents[0].Text}, "\n")
	}
}
