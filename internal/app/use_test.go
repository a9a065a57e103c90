package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/jsonfile"
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
		DeliverHook(io.Discard, answer, s.KeepTrace)
		return answer
	}
	prompt := func(text string) string {
		answer := send(map[string]string{"hook_event_name": "UserPromptSubmit", "prompt": text})
		said("user", text)
		require.NotEmpty(t, answer.Reply, text)
		return answer.Receipt.Turn.ID
	}
	log := use.NewLog(s.at.Use())
	verdict := func(turn string) use.Verdict {
		found, ok, err := log.Turn(t.Context(), turn)
		require.NoError(t, err)
		require.True(t, ok)
		return found.Hits[0].Used
	}

	interrupted := prompt("where does the staging database listen?")
	said("assistant", "The staging database listens on port 5433, I think.")
	next := prompt("from which pier does the ferry leave?")
	said("assistant", "I cannot tell you.")
	send(map[string]string{"hook_event_name": "Stop"})
	require.Equal(t, use.Unknown, verdict(interrupted), "a hook waits for no verdict")

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.judgeAll(ctx) }()
	for verdict(next) == use.Unknown && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond) // until the test's own time is over
	}
	require.Equal(t, use.Yes, verdict(interrupted))
	require.Equal(t, use.No, verdict(next))
	stop()
	<-ended

	for range 3 * mostJudging { // nothing judges any more, and nothing waits for it
		require.NoError(t, s.used(t.Context(), hook.Event{Agent: agents.ClaudeCode, Session: "s"}))
	}

	require.NoError(t, s.Use().ForgetStatement(t.Context(), notes.Statement{Dir: s.Project, Name: "staging.md"}, notes.Change{}))
	kept, ok, err := log.Turn(t.Context(), interrupted)
	require.NoError(t, err)
	require.True(t, ok)
	require.Empty(t, kept.Hits)
	require.NoError(t, s.Use().ForgetStatement(t.Context(), notes.Statement{Dir: s.Project, Name: "other.md"}, notes.Change{Diff: "--- other.md\n+++ other.md\n-- Which pier\tdoes the Ferry\n"}))
	_, ok, err = log.Turn(t.Context(), next)
	require.NoError(t, err)
	require.False(t, ok, "its prompt says what was forgotten")
}

// Forgetting lines removes their hits from the record of use, and all hits of their document from
// traces, which hold texts whose lines may have moved.
func TestForgetTakesOnlyWhatHasTheText(t *testing.T) {
	c := newCorrector(t)
	at := time.Now().Add(-time.Hour)
	hit := func(first, last int, text string) core.MemoryHit {
		return core.MemoryHit{ID: text, Path: "harbour.md", StartLine: first, EndLine: last, Text: text}
	}
	traced := map[string]core.Result{
		"about it": {Hits: []core.MemoryHit{hit(5, 9, "Ada is on call.")}}, "beside it": {Hits: []core.MemoryHit{hit(1, 3, "The ferry")}},
		"a poem": {Rejected: []core.MemoryHit{hit(5, 9, "- Ada is on call."), hit(1, 3, "The ferry")}},
	}
	log := use.NewLog(c.at.Use())
	for prompt, result := range traced {
		var hits []use.Hit
		for _, h := range result.Hits {
			hits = append(hits, use.Hit{ID: h.ID, Path: h.Path, Source: fmt.Sprintf("harbour.md#L%d-L%d", h.StartLine, h.EndLine)})
		}
		require.NoError(t, log.Note(t.Context(), use.NewTurn(at, "codex", prompt, prompt, true, hits)))
		SaveTrace(c.at.Last(), hook.Trace{At: at, Event: hook.Event{Kind: hook.Prompt, Session: prompt, Prompt: prompt}, Result: result, Added: "<memory>"})
	}
	c.make(view.ChangeRequest{How: view.ForgetLines, Path: "harbour.md", First: 9, Last: 9})
	turns, err := log.Turns(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, turns, 3)
	for _, turn := range turns {
		require.Equal(t, turn.Session == "beside it", len(turn.Hits) == 1, turn.Session)
	}
	files := tracesIn(c.at.Last())
	require.Len(t, files, 3)
	for _, file := range files {
		trace, err := jsonfile.Load[hook.Trace](file)
		require.NoError(t, err)
		require.Equal(t, trace.Event.Prompt == "a poem", trace.Added != "", trace.Event.Prompt)
		require.Empty(t, append(trace.Result.Hits, trace.Result.Rejected...))
	}
}
