package app

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
)

var update = flag.Bool("update", false, "write the golden file")

// said makes a session in which something was said at noon of 24 February 2026.
func said(t *testing.T, s *Service, id string, texts ...string) *session.Session {
	t.Helper()
	current, err := session.New(s.SessionsDir(), id)
	require.NoError(t, err)
	for _, text := range texts {
		role, text, _ := strings.Cut(text, ": ")
		_, err := current.Append(t.Context(), session.Message{Role: role, Content: text, Time: time.Date(2026, 2, 24, 12, 0, 0, 0, time.UTC)}, session.AppendOptions{})
		require.NoError(t, err)
	}
	return current
}

// The definition of recall_memory and its answers stay as models know them.
func TestRecallTool(t *testing.T) {
	s := newTestService(t)
	tool, ok := tools.Find(s.Tools(), recallToolName)
	require.True(t, ok)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", plainJSON(t, tool.Definition()))
	call := func(arguments string) {
		b.WriteString("> recall_memory " + arguments + "\n")
		answer, err := tool.Call(t.Context(), []byte(arguments))
		if err != nil {
			b.WriteString("error: " + err.Error() + "\n\n")
			return
		}
		found := answer.Data.(formatter.Recalled)
		for i := range found.Results {
			found.Results[i].Score = 0
			if found.Results[i].Source == formatter.RecalledNote {
				answer.Text = strings.ReplaceAll(answer.Text, found.Results[i].Time.Format(time.DateOnly), "TODAY")
				found.Results[i].Time = time.Time{}
			}
		}
		b.WriteString(answer.Text + "\n" + plainJSON(t, found) + "\n")
	}
	call(`{"query": "authentication"}`)
	current := said(t, s, "s1", "user: User asked about the authentication flow, discussed OAuth2 vs JWT")
	require.NoError(t, os.WriteFile(filepath.Join(current.Dir, "working-memory", "detail", "auth-design.md"),
		[]byte("# Authentication Design\n\n<!--\nMETA:\n- created: 2024-01-15T10:30:00Z\n- keywords: [\"authentication\", \"jwt\"]\n-->\n\nDecided to use JWT tokens with refresh rotation.\n"), 0o600))
	for _, arguments := range []string{`{"query": "authentication"}`, `{"query": "refresh rotation", "scope": "detail"}`, `{"query": "zebra", "scope": "messages", "limit": 1}`, `{"query": "x", "scope": "galaxy"}`, `{"query": "x", "session": "absent"}`} {
		call(arguments)
	}
	file := filepath.Join("testdata", "recall_memory.txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}

// A request without a limit gets the configured one.
func TestRecallLimit(t *testing.T) {
	s := newTestService(t)
	var texts []string
	for i := range 12 {
		texts = append(texts, fmt.Sprintf("user: the zebra number %d%d%d came to the %s", i, i, i, []string{"river", "hill", "station", "market"}[i%4]))
	}
	said(t, s, "s1", texts...)
	tool, _ := tools.Find(s.Tools(), recallToolName)
	for _, tt := range []struct{ asked, configured, want int }{{0, 5, 5}, {0, 7, 7}, {3, 7, 3}, {-1, 7, 7}} {
		s.Settings.DefaultLimit = tt.configured
		answer, err := tool.Call(t.Context(), fmt.Appendf(nil, `{"query": "zebra", "limit": %d}`, tt.asked))
		require.NoError(t, err)
		require.Len(t, answer.Data.(formatter.Recalled).Results, tt.want)
	}
}

// A request gets the overview and recalled texts, not a long session's messages.
func TestContextOfALongSession(t *testing.T) {
	s := newTestService(t)
	var texts []string
	for i := range 300 {
		texts = append(texts, fmt.Sprintf("user: We looked at service%d, whose port is %d, and talked about retries, queues and the release at some length.", i, 10_000+i))
	}
	said(t, s, "s1", texts...)
	tool, _ := tools.Find(s.Tools(), recallToolName)
	answer, err := tool.Call(t.Context(), []byte(`{"query": "which port has service277"}`))
	require.NoError(t, err)
	require.Equal(t, "session:s1/messages.jsonl#L278", answer.Data.(formatter.Recalled).Results[0].Citation)
	require.Less(t, len(answer.Text), len(strings.Join(texts, ""))/20)
}

// What an agent writes to its own log is not noted a second time, but read there: by its session,
// by what looks for proposals, and by recall if logs are indexed. Other messages are noted.
func TestMessagesAreNotNotedTwice(t *testing.T) {
	s := newTestService(t)
	memory := hookMemory{Service: s, folder: s.Project}
	log := filepath.Join(t.TempDir(), "0a1b2c3d-logged.jsonl")
	event := func(agent, id, transcript string, kind hook.Kind) hook.Event {
		return hook.Event{Agent: agent, Session: id, Transcript: transcript, Kind: kind, Dir: s.Project}
	}
	e := event(agents.ClaudeCode, "0a1b2c3d-logged", log, hook.Prompt)
	require.NoError(t, memory.Note(t.Context(), e, "user", "from now on we deploy with tofu"))
	line := `{"type":"user","sessionId":"0a1b2c3d-logged","uuid":"u","timestamp":"2026-05-01T09:00:00Z","message":{"role":"user","content":"from now on always deploy with tofu, please"}}` + "\n"
	require.NoError(t, os.WriteFile(log, []byte(line), 0o600))
	e.Kind = hook.TurnEnd
	require.NoError(t, memory.Note(t.Context(), e, "assistant", "I will."))
	current, err := s.Sessions().ofEvent(e)
	require.NoError(t, err)
	require.Equal(t, log, current.Log())
	require.False(t, current.HasMessages())
	info, err := s.Sessions().Describe(t.Context(), current)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{info.Messages, info.Prompts})
	require.NoError(t, memory.Ended(t.Context(), e))
	waiting, err := s.Notes().Proposals().Waiting()
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(waiting, func(p notes.Proposal) bool {
		return strings.Contains(p.Text, "deploy with tofu") && p.Source == "claude-code-0a1b2c3d-logged/0a1b2c3d-logged.jsonl#L1"
	}), "%v", waiting)

	unreadable := filepath.Join(t.TempDir(), "x.jsonl")
	require.NoError(t, os.WriteFile(unreadable, []byte("of a later version\n"), 0o600))
	for _, e := range []hook.Event{
		event(agents.ClaudeCode, "unreadable-1", unreadable, hook.Prompt),
		event(agents.Cursor, "cursor-keeps-none", "", hook.Prompt),
		event(agents.Cursor, "cursor-unbegun", filepath.Join(t.TempDir(), "absent.jsonl"), hook.Prompt),
		event(agents.Codex, "codex-none", "", hook.TurnEnd),
		event(agents.ClaudeCode, "never-written", filepath.Join(t.TempDir(), "absent.jsonl"), hook.TurnEnd),
	} {
		require.NoError(t, memory.Note(t.Context(), e, "user", "the zebra of "+e.Session))
		current, err := s.Sessions().ofEvent(e)
		require.NoError(t, err)
		require.True(t, current.HasMessages(), e.Session)
		require.Empty(t, current.Log(), e.Session)
		result, err := s.Manager.Search(t.Context(), "zebra", core.SearchOptions{Session: SessionID(e)})
		require.NoError(t, err, e.Session)
		require.Len(t, result.Hits, 1, e.Session)
	}
}
