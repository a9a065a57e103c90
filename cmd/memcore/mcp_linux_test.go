package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// An agent that starts the program can find, save, read and forget.
func TestMCPOfARealProcess(t *testing.T) {
	s := newSeat(t)
	binary := programAt(t, olderProgram)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	command := exec.CommandContext(ctx, binary, "mcp")
	command.Dir, command.Env = s.project, []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	var asked []string
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked = append(asked, r.Params.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
	}})
	current, err := client.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	require.NoError(t, err)
	call := func(name string, arguments map[string]any) string {
		t.Helper()
		result, err := current.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err, name)
		text := result.Content[0].(*mcp.TextContent).Text
		require.False(t, result.IsError, text)
		return text
	}
	require.Eventually(t, func() bool {
		return strings.Contains(call("search_memory", map[string]any{"query": "staging database port"}), "5433")
	}, time.Minute, 20*time.Millisecond, "the first time it makes the index")
	require.Regexp(t, `^Saved to BEANS.md, line 3\. Agents only find BEANS.md as reference, .*'memcore trust add'`, call("save_memory", map[string]any{"content": "The cache listens on port 6379"}))
	require.Eventually(t, func() bool {
		return strings.Contains(call("search_memory", map[string]any{"query": "on which port does the cache listen?"}), "6379")
	}, time.Minute, 10*time.Millisecond, "at once, or with a note that the answer is not complete while the first index is being made")
	require.Contains(t, call("search_memory", map[string]any{"query": "who won the world chess championship of 1972?"}), "No relevant memory found")
	require.Contains(t, call("memory_write", map[string]any{"path": "facts/user.md", "content": "# User\n\n- Name: Ada\n"}), "Wrote facts/user.md")
	require.Eventually(t, func() bool {
		read, err := current.ReadResource(ctx, &mcp.ReadResourceParams{URI: "memcore:///facts/user.md"})
		return err == nil && strings.Contains(read.Contents[0].Text, "Ada")
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, "Deleted: BEANS.md#L3.", call("forget", map[string]any{"text": "cache listens on port 6379"}))
	require.NotContains(t, call("search_memory", map[string]any{"query": "cache port"}), "6379")
	require.Len(t, asked, 2)
	require.Contains(t, asked[0], "A model asks to change BEANS.md. Its folder is not trusted, so agents only find it as reference. Allow it?\n\n")
	require.Contains(t, asked[0], "\n+- The cache listens on port 6379\n")
	require.Contains(t, asked[1], "\n-- The cache listens on port 6379\n")
	require.NoError(t, current.Close())
}

// The daemon's API over TCP requires its token, and a workspace that was opened at this machine.
func TestServeOverTCP(t *testing.T) {
	s := newSeat(t)
	binary := programAt(t, olderProgram)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	command := exec.CommandContext(ctx, binary, "serve", "--http", "127.0.0.1:0", "--token-env", "TOKEN")
	command.Dir, command.Env = s.project, []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "TOKEN=secret"}
	said, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	var address string
	var log strings.Builder
	for lines := bufio.NewScanner(said); address == "" && lines.Scan(); {
		fmt.Fprintln(&log, lines.Text())
		_, address, _ = strings.Cut(lines.Text(), "listening at ")
	}
	require.NotEmpty(t, address, log.String())
	ask := func(token string) int {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v1/search", strings.NewReader(`{"workspace":"`+s.project+`","query":"staging"}`))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0
		}
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	require.Equal(t, http.StatusForbidden, ask("secret"), "nobody opened it")
	index := exec.CommandContext(ctx, binary, "index")
	index.Dir, index.Env = command.Dir, command.Env
	out, err := index.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Eventually(t, func() bool { return ask("secret") == http.StatusOK }, time.Minute, 20*time.Millisecond)
	require.Equal(t, http.StatusUnauthorized, ask("x"))
	require.NoError(t, command.Process.Signal(os.Interrupt))
	require.NoError(t, command.Wait())
}
