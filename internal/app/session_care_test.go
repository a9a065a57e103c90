package app

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
)

// A session that goes is forgotten everywhere.
func TestPruneSessions(t *testing.T) {
	s := newTestService(t)
	claude := func(text string) string {
		return `{"type":"assistant","sessionId":"s","uuid":"u","timestamp":"2026-01-02T10:00:00Z","message":{"id":"m","role":"assistant","content":"` + text + `"}}` + "\n"
	}
	year := time.Now().AddDate(-1, 0, 0)
	for _, id := range []string{"0123456-unused", "0123456-logged", "0123456-stated", "0123456-gone"} {
		current, err := session.New(s.SessionsDir(), agents.ClaudeCode+"-"+id)
		require.NoError(t, err)
		_, err = current.Append(t.Context(), session.Message{Role: "user", Content: "about " + id}, session.AppendOptions{})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(s.Project, id+".jsonl"), []byte(claude("The walrus of "+id+" sleeps below the northern pier because the cellar is flooded.")), 0o600))
		require.NoError(t, filepath.WalkDir(current.Dir, func(path string, _ os.DirEntry, err error) error {
			require.NoError(t, err)
			return os.Chtimes(path, year, year)
		}))
	}
	named, err := session.New(s.SessionsDir(), agents.GeminiCLI+"-0123456-named") // by its log, whose name does not tell
	require.NoError(t, err)
	log := filepath.Join(s.Project, "chat-1.jsonl")
	require.NoError(t, os.WriteFile(log, []byte(claude("The heron of the session sleeps on the southern pier because the boathouse is locked.")), 0o600))
	require.NoError(t, named.SetLog(log))
	for _, path := range []string{log, named.OverviewPath(), filepath.Dir(named.OverviewPath()), filepath.Join(named.Dir, "working-memory", "detail"), named.Dir} {
		require.NoError(t, os.Chtimes(path, year, year))
	}
	_, err = s.Manager.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	for agent, id := range map[string]string{agents.Codex: "now", agents.ClaudeCode: "0123456-gone"} {
		e := hook.Event{Agent: agent, Session: id, Kind: hook.Prompt, Prompt: "a secret plan"}
		require.NoError(t, s.at.Journal().Append(t.Context(), e.Entry(year, true)))
	}

	old, err := s.Sessions().Old(time.Now().AddDate(0, 0, -90), false)
	require.NoError(t, err)
	require.Len(t, old, 5)
	old = slices.DeleteFunc(old, func(k KeptSession) bool {
		require.Equal(t, s.Project, k.Project)
		return k.ID != "claude-code-0123456-unused" && k.ID != "claude-code-0123456-gone" && k.ID != "gemini-cli-0123456-named"
	})
	removed, err := s.Sessions().Remove(t.Context(), old)
	require.NoError(t, err)
	require.Len(t, removed, 3)
	left, err := s.Sessions().Kept(true)
	require.NoError(t, err)
	require.Len(t, left, 2)
	entries, err := s.Use().Entries()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.FileExists(t, filepath.Join(s.Project, "0123456-gone.jsonl"), "the agent's own log stays")
	hidden, _, err := s.Manager.Documents(t.Context(), core.DocumentsOptions{Find: "chat-1", Kind: "conversation"})
	require.NoError(t, err)
	require.Empty(t, slices.DeleteFunc(hidden, func(d core.DocumentInfo) bool { return d.Chunks == 0 }), "it is hidden")
	require.FileExists(t, log)
	documents, _, err := s.Manager.Documents(t.Context(), core.DocumentsOptions{Find: "0123456", Kind: "conversation"})
	require.NoError(t, err)
	var paths []string
	for _, d := range documents {
		if d.Chunks > 0 {
			paths = append(paths, d.Path)
		}
	}
	require.ElementsMatch(t, []string{"0123456-logged.jsonl", "0123456-stated.jsonl",
		"session:claude-code-0123456-logged/messages.jsonl", "session:claude-code-0123456-stated/messages.jsonl"}, paths)
}

// The daemon deletes old sessions by itself, if it is told to.
func TestRetain(t *testing.T) {
	s := newTestService(t)
	year := time.Now().AddDate(-1, 0, 0)
	for _, id := range []string{"old", "new"} {
		current, err := session.New(s.SessionsDir(), id)
		require.NoError(t, err)
		if id == "old" {
			require.NoError(t, filepath.WalkDir(current.Dir, func(path string, _ os.DirEntry, err error) error {
				require.NoError(t, err)
				return os.Chtimes(path, year, year)
			}))
		}
	}
	s.Remember(t.Context())
	n, logs, err := s.Sessions().Retain(t.Context())
	require.NoError(t, err)
	require.Zero(t, n+logs, "all are kept by default")
	s.Settings.Sessions.Keep = "180d"
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = s.Watch(ctx, func(core.IndexReport, error) {}, func(error) {}) })
	require.Eventually(t, func() bool {
		left, err := session.List(s.SessionsDir())
		return err == nil && len(left) == 1 && left[0] == "new"
	}, 20*time.Second, 10*time.Millisecond)
	stop()
	group.Wait()
}
