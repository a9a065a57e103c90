package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/view"
)

// An open service judges apart from hooks: at the end of a turn, or at the next prompt if the agent
// does not report the end.
func TestServiceJudges(t *testing.T) {
	s := newTestService(t)
	transcript := filepath.Join(t.TempDir(), "session.jsonl")
	said := func(role, text string) {
		file, err := os.OpenFile(transcript, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		line := fmt.Sprintf(`{"type":%q,"sessionId":"s","uuid":"u","timestamp":%q,"message":{"id":%q,"role":%q,"content":%q}}`, role, time.Now().Format(time.RFC3339Nano), text, role, text)
		_, err = file.WriteString(line + "\n")
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	send := func(event map[string]string) httpapi.HookReply {
		event["session_id"], event["transcript_path"] = "s", transcript
		data, err := json.Marshal(event)
		require.NoError(t, err)
		answer, err := s.Hook(t.Context(), httpapi.HookRequest{Agent: agents.ClaudeCode, Event: data})
		require.NoError(t, err)
		return answer
	}
	prompt := func(text string) string {
		answer := send(map[string]string{"hook_event_name": "UserPromptSubmit", "prompt": text})
		said("user", text)
		require.NotEmpty(t, answer.Reply, text)
		return answer.Entry
	}
	find := func(id string) journal.Entry {
		entries, err := s.Use().Entries()
		require.NoError(t, err)
		i := slices.IndexFunc(entries, func(e journal.Entry) bool { return e.ID == id })
		require.GreaterOrEqual(t, i, 0)
		return entries[i]
	}
	verdict := func(id string) journal.Use { return cmp.Or(find(id).Passages()[0].Used, journal.Unknown) }

	interrupted := prompt("where does the staging database listen?")
	said("assistant", "The staging database listens on port 5433, I think.")
	next := prompt("from which pier does the ferry leave?")
	said("assistant", "I cannot tell you.")
	send(map[string]string{"hook_event_name": "Stop"})
	require.Equal(t, journal.Unknown, verdict(interrupted), "a hook waits for no verdict")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.judgeAll(ctx) }()
	for verdict(next) == journal.Unknown && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond) // until the test's own time is over
	}
	require.Equal(t, journal.Yes, verdict(interrupted))
	require.Equal(t, journal.No, verdict(next))
	stop()
	<-ended

	for range 3 * maxJudging { // nothing judges any more, and nothing waits for it
		require.NoError(t, s.used(t.Context(), hook.Event{Agent: agents.ClaudeCode, Session: "s"}))
	}

	require.NoError(t, s.Use().ForgetStatement(t.Context(), notes.Statement{Dir: s.Project, Name: "staging.md"}, notes.Change{}))
	require.Empty(t, find(interrupted).Passages())
	require.NoError(t, s.Use().ForgetStatement(t.Context(), notes.Statement{Dir: s.Project, Name: "other.md"}, notes.Change{Diff: "--- other.md\n+++ other.md\n-- Which pier\tdoes the Ferry\n"}))
	require.Empty(t, find(next).Prompt, "it says what was forgotten")
}

// Forgetting lines removes the passages that cite them, and all candidates of their document, whose
// lines may have moved.
func TestForgetTakesOnlyWhatHasTheText(t *testing.T) {
	c := newCorrector(t)
	hit := func(first, last int, text string) core.MemoryHit {
		return core.MemoryHit{ID: text, Path: "harbour.md", Source: fmt.Sprintf("harbour.md#L%d-L%d", first, last), StartLine: first, EndLine: last, Text: text}
	}
	results := map[string]core.Result{
		"about it": {Hits: []core.MemoryHit{hit(5, 9, "Ada is on call.")}}, "beside it": {Hits: []core.MemoryHit{hit(1, 3, "The ferry")}},
		"a poem": {Rejected: []core.MemoryHit{hit(5, 9, "- Ada is on call."), hit(1, 3, "The ferry")}},
	}
	for prompt, result := range results {
		e := hook.Event{Agent: "codex", Kind: hook.Prompt, Session: prompt, Prompt: prompt}.Entry(time.Now(), true)
		e.Took, e.Result = "1ms", journal.Trim(result)
		for _, h := range result.Hits {
			e.Given = append(e.Given, journal.Given{Kind: journal.Passage, Key: h.ID, Path: h.Path, Source: h.Source})
		}
		require.NoError(t, c.at.Journal().Append(t.Context(), e))
	}
	c.make(view.ChangeRequest{How: view.ForgetLines, Path: "harbour.md", First: 9, Last: 9})
	entries, err := c.at.Journal().Entries()
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for _, e := range entries {
		require.Equal(t, e.Prompt == "beside it", len(e.Passages()) == 1, e.Prompt)
		require.NoError(t, c.at.Journal().Explain(&e))
		require.Empty(t, append(e.Result.Hits, e.Result.Rejected...))
	}
}
