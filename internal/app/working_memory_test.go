package app

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/mcp"
)

// The state of a session outlives a compaction: its overview, which the agent is told how to write,
// and the summary that the agent makes of what it drops.
func TestWorkingMemory(t *testing.T) {
	s := newTestService(t)
	log := filepath.Join(t.TempDir(), "w.jsonl")
	send := func(e hook.Event) string {
		e.Agent, e.Session, e.Dir, e.Transcript = agents.ClaudeCode, "w", s.Project, log
		return s.HookReply(t.Context(), e).Reply
	}
	require.Contains(t, send(hook.Event{Kind: hook.SessionStart, Name: "SessionStart"}), "save_memory with the path session/claude-code-w/overview.md")
	save := func(client *sdk.ClientSession, path, content string) string {
		result, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "save_memory", Arguments: map[string]any{"path": path, "content": content}})
		require.NoError(t, err)
		return result.Content[0].(*sdk.TextContent).Text
	}
	prompt := hook.Event{Kind: hook.Prompt, Name: "UserPromptSubmit", Prompt: "Which winch is oiled?"}

	server := httptest.NewServer(mcpOf(t, s).Handler(""))
	defer server.Close()
	client := sdk.NewClient(&sdk.Implementation{Name: agents.ClaudeCode, Version: "2"}, nil)
	at, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: server.URL}, nil)
	require.NoError(t, err)
	defer at.Close()
	require.Contains(t, save(at, "session/claude-code-gone/overview.md", "Lost."), "no hook has noted claude-code-gone; want the path that the start of the session names, else session/overview.md")
	require.NoDirExists(t, filepath.Join(s.SessionsDir(), "claude-code-gone"))
	require.NoDirExists(t, filepath.Join(s.SessionsDir(), "claude-code-w"), "nothing is recorded yet")
	save(at, "session/claude-code-w/overview.md", "## Current Task\nPainting.")
	require.Contains(t, send(prompt), "Painting.")
	require.Contains(t, save(at, "session/overview.md", "Oiling the winch. "+strings.Repeat("And the rope. ", 200)), "characters, a session is given 2000: shorten it")
	require.Contains(t, send(prompt), "Oiling the winch.", "the overview has changed")

	send(hook.Event{Kind: hook.Compact, Name: "PreCompact"})
	require.NoError(t, os.WriteFile(log, []byte(`{"type":"user","sessionId":"w","timestamp":"2026-11-27T13:04:29Z","isCompactSummary":true,"message":{"role":"user","content":"The gangway was painted."}}`+"\n"), 0o600))
	again := send(hook.Event{Kind: hook.SessionStart, Name: "SessionStart", Source: "compact"})
	require.Contains(t, again, "Oiling the winch.")
	require.NotContains(t, again, "no overview yet")
	send(prompt)
	found, err := s.Manager.Search(t.Context(), "gangway", core.SearchOptions{Session: "claude-code-w"})
	require.NoError(t, err)
	require.Equal(t, session.PathPrefix+"claude-code-w/working-memory/detail/2026-11-27T13-04-29Z-compaction.md", found.Hits[0].Path)
}

// A start that was missed, such as one on a busy machine, is given with the first prompt, and how to
// keep an overview with it.
func TestWorkingMemoryAfterAMissedStart(t *testing.T) {
	s := openTestService(t, map[string]string{"BEANS.md": "Everything is in metric units."})
	s.Settings.FolderTrust.Enabled = false
	send := func() string {
		return s.HookReply(t.Context(), hook.Event{Kind: hook.Prompt, Name: "UserPromptSubmit", Prompt: "Which winch is oiled?",
			Agent: agents.ClaudeCode, Session: "late", Dir: s.Project}).Reply
	}
	require.Regexp(t, "metric units.*no overview yet.*session/claude-code-late/overview.md", send())
	require.NotContains(t, send(), "no overview yet")
}

func mcpOf(t *testing.T, s *Service) *mcp.Server {
	t.Helper()
	memory, err := s.MCP()
	require.NoError(t, err)
	return mcp.New(memory, mcp.Options{Poll: -1})
}
