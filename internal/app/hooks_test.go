package app

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/jsonfile"
)

// Who answers a hook writes the journal: the caller only says if the answer did not reach the
// agent.
func TestJournalOfTheDaemon(t *testing.T) {
	s := newTestService(t)
	event := `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"where does the staging database listen? the password is c0rrect-horse-battery"}`
	ask := func(ctx context.Context, id string) (httpapi.HookReply, error) {
		return s.Hook(ctx, httpapi.HookRequest{Agent: agents.ClaudeCode, Event: json.RawMessage(event), ID: id, Cut: "much"})
	}
	answer, err := ask(t.Context(), "first")
	require.NoError(t, err)
	require.Contains(t, answer.Reply, "5433")
	require.Equal(t, "first", answer.Entry)
	entries, err := s.Use().Entries()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, "much", entries[0].Cut)
	require.Contains(t, entries[0].Prompt, "where does the staging database")
	require.NotContains(t, entries[0].Prompt, "c0rrect")
	again, err := ask(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, again.Reply, "the session has it")

	require.NoError(t, s.at.Journal().Append(t.Context(), journal.Entry{Head: entries[0].Head, Undelivered: "broken pipe"}))
	again, err = ask(t.Context(), "")
	require.NoError(t, err)
	require.Contains(t, again.Reply, "5433", "it was not given")

	event = strings.Replace(event, `"s"`, `"another"`, 1)
	gone, stop := context.WithCancel(t.Context())
	stop()
	_, err = ask(gone, "late")
	require.ErrorIs(t, err, context.Canceled)
	again, err = ask(t.Context(), "")
	require.NoError(t, err)
	require.Contains(t, again.Reply, "5433", "nobody waited for the answer")
}

// A process that was stopped while it wrote the journal does not keep others for ever.
func TestRecordBesideAStoppedWriter(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits as long as a hook does")
	}
	s := newTestService(t)
	unlock, err := jsonfile.Lock(t.Context(), filepath.Join(s.at.Own(), config.JournalFile))
	require.NoError(t, err)
	defer unlock()
	done := make(chan struct{})
	go func() {
		s.Record(hook.Event{Agent: agents.ClaudeCode, Session: "s", Kind: hook.Prompt}, journal.Entry{})
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it waits for ever")
	}
}

// What was done for a prompt whose answer came too late is told with the next answer, by whichever
// process, and once.
func TestLateDeedsAreTold(t *testing.T) {
	for prompt, want := range map[string]string{
		"accept 7fe304":  "as the user says, accepted 7fe304, written to facts/project.md",
		"decline 7fe304": "as the user says, declined 7fe304",
		"Remember that the gull lives on the northern quay.": "is saved in data/memory/facts/project.md",
	} {
		s := newTestService(t)
		_, err := s.Notes().Proposals().Add(t.Context(), notes.Proposal{ID: "7fe304", Kind: notes.ProposedFact, Path: "facts/project.md", Text: "- The gull is grey."})
		require.NoError(t, err)
		ask := func(id, session, prompt string) httpapi.HookReply {
			e := hook.Event{Agent: "claude-code", Kind: hook.Prompt, Name: "UserPromptSubmit", Session: session, ID: id, Prompt: prompt}
			return s.HookReply(t.Context(), e)
		}
		require.Contains(t, ask("a", "one", prompt).Reply, want, "and nobody reads it")
		require.NotContains(t, ask("b", "two", "Which port does staging use?").Reply, want, "another session")
		instead := ask("c", "one", prompt)
		require.Equal(t, 1, strings.Count(instead.Reply, want), instead.Reply)
		require.NotContains(t, instead.Reply, "nothing waits under")
		next := ask("d", "one", "Which port does staging use?")
		require.Contains(t, next.Reply, want, "nor did that arrive")
		require.NoError(t, s.Notes().Proposals().Told(t.Context(), next.Told...))
		require.NotContains(t, ask("e", "one", "Which port does staging use?").Reply, want)
	}
}
