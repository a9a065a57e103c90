package app

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/httpapi"
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
