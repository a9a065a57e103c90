package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
)

// A closedPipe is the standard output of a hook whose agent has ended.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// 'explain --last' and the session's record hold only what was written.
func TestExplainSaysWhatWasWritten(t *testing.T) {
	dir := t.TempDir()
	e := hook.Event{Agent: agents.ClaudeCode, Name: "UserPromptSubmit", Kind: hook.Prompt, Session: "s", Prompt: "which port?"}
	answer := func() httpapi.HookReply {
		record := use.NewTurn(time.Now(), e.Agent, e.Session, e.Prompt, true, nil)
		return httpapi.HookReply{Reply: "reply", Records: filepath.Join(dir, "records"), Use: filepath.Join(dir, "use.jsonl"), Last: filepath.Join(dir, "last"),
			Receipt: hook.Receipt{Agent: e.Agent, Session: e.Session, Hits: []string{"x"}, Begun: true, Turn: &record},
			Trace:   &hook.Trace{Event: e, At: time.Now(), Added: "text", Turn: record.ID}}
	}
	begun := func() bool {
		record, err := hook.Records{Dir: filepath.Join(dir, "records")}.Load(e)
		require.NoError(t, err)
		return record.Begun
	}
	var kept []hook.Trace
	keep := func(t hook.Trace) { kept = append(kept, t) }

	DeliverHook(closedPipe{}, answer(), keep)
	require.Empty(t, kept[0].Added)
	require.Empty(t, kept[0].Turn)
	require.Equal(t, "it could not be written: broken pipe", kept[0].Reason)
	require.False(t, begun())
	require.NoFileExists(t, filepath.Join(dir, "use.jsonl"))

	var out bytes.Buffer
	DeliverHook(&out, answer(), keep)
	require.Equal(t, "reply", out.String())
	require.Equal(t, "text", kept[1].Added)
	require.True(t, begun())
	require.FileExists(t, filepath.Join(dir, "use.jsonl"))

	DeliverHook(&out, httpapi.HookReply{Reply: "x"}, keep)
	require.Len(t, kept, 2, "there was nothing to trace")
}

// A daemon leaves the trace to a hook, since it does not know whether its answer was in time. It keeps
// that of other callers.
func TestTracesOfTheDaemon(t *testing.T) {
	s := newTestService(t)
	event := `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"where does the staging database listen? the password is c0rrect-horse-battery"}`
	answer, err := s.Hook(t.Context(), httpapi.HookRequest{Agent: agents.ClaudeCode, Event: json.RawMessage(event), Keeps: true})
	require.NoError(t, err)
	require.NotEmpty(t, answer.Reply)
	require.NotEmpty(t, answer.Trace.Added)
	require.NotContains(t, answer.Trace.Event.Prompt, "c0rrect")
	require.NoDirExists(t, answer.Last)
	DeliverHook(io.Discard, answer, func(t hook.Trace) { SaveTrace(answer.Last, t) })
	trace, err := LastTrace(s.at.Last())
	require.NoError(t, err)
	require.Equal(t, answer.Trace.Added, trace.Added)

	event = strings.Replace(event, `"s"`, `"raw"`, 1)
	answer, err = s.Hook(t.Context(), httpapi.HookRequest{Agent: agents.ClaudeCode, Event: json.RawMessage(event)})
	require.NoError(t, err)
	require.NotEmpty(t, answer.Reply)
	trace, err = LastTrace(s.at.Last())
	require.NoError(t, err)
	require.Equal(t, "raw", trace.Event.Session)
	require.NotContains(t, trace.Event.Prompt, "c0rrect")
	answer, err = s.Hook(t.Context(), httpapi.HookRequest{Agent: agents.ClaudeCode, Event: json.RawMessage(event)})
	require.NoError(t, err)
	require.Empty(t, answer.Reply, "the session has it")
}

// A skipped hook is the last one only if no other agent's hook ran for the event.
func TestSkippedHooks(t *testing.T) {
	folder := t.TempDir()
	now := time.Now()
	save := func(agent, reason string, at time.Time) {
		SaveTrace(folder, hook.Trace{At: at, Reason: reason, Event: hook.Event{Kind: hook.Prompt, Agent: agent, Session: "s"}})
		time.Sleep(5 * time.Millisecond) // files are ordered by time
	}
	last := func() string {
		trace, err := LastTrace(folder)
		require.NoError(t, err)
		return trace.Event.Agent
	}
	save(agents.ClaudeCode, ReasonSkipped+"Cursor", now)
	require.Equal(t, agents.ClaudeCode, last())
	save(agents.Cursor, "", now.Add(time.Second))
	save(agents.ClaudeCode, ReasonSkipped+"Cursor", now.Add(time.Second))
	require.Equal(t, agents.Cursor, last())
	save(agents.ClaudeCode, ReasonSkipped+"Cursor", now.Add(time.Hour))
	require.Equal(t, agents.ClaudeCode, last(), "Cursor's hook no longer runs")
}

// A late event within a turn does not hide what its prompt got.
func TestTraceOfLaterEvents(t *testing.T) {
	folder := t.TempDir()
	save := func(kind hook.Kind, added, reason string) {
		SaveTrace(folder, hook.Trace{At: time.Now(), Added: added, Reason: reason, Event: hook.Event{Kind: kind, Agent: agents.ClaudeCode, Session: "s"}})
	}
	save(hook.Prompt, "text", "")
	save(hook.TurnEnd, "", "memory took too long")
	trace, err := LastTrace(folder)
	require.NoError(t, err)
	require.Equal(t, "text", trace.Added)
	require.Len(t, trace.Later, 1)
	require.Equal(t, "memory took too long", trace.Later[0].Reason)
}

// A trace has the beginning of a long prompt, and nothing of a secret at its end.
func TestTraceOfLongPrompt(t *testing.T) {
	filler := strings.Repeat("line of a log\n", 10_000)
	prompt := filler[:longestKept-30] + "\nthe password is c0rrect-horse-battery-staple-0123456789\n" + filler
	kept := withoutSecrets(hook.Trace{Event: hook.Event{Prompt: prompt, Answer: "short"}}).Event
	require.LessOrEqual(t, len(kept.Prompt), longestKept+len("…"))
	require.True(t, strings.HasSuffix(kept.Prompt, "…"))
	require.NotContains(t, kept.Prompt, "c0rrect")
	require.Equal(t, "short", kept.Answer)
}

// A tool call's trace joins the prompt of its own session, not a later one of another.
func TestTracesOfSessions(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "last")
	trace := func(session string, kind hook.Kind, added string) {
		SaveTrace(folder, hook.Trace{At: time.Now(), Added: added, Event: hook.Event{Kind: kind, Agent: agents.ClaudeCode, Session: session}})
		time.Sleep(5 * time.Millisecond) // the files' times differ
	}
	trace("a", hook.Prompt, "for a")
	trace("b", hook.Prompt, "for b")
	last, err := LastTrace(folder)
	require.NoError(t, err)
	require.Equal(t, "for b", last.Added)
	trace("a", hook.Tool, "more for a")
	last, err = LastTrace(folder)
	require.NoError(t, err)
	require.Equal(t, "for a", last.Added)
	require.Equal(t, "more for a", last.Later[0].Added)
	for n := range 2 * mostTraces {
		trace(fmt.Sprint(n), hook.Prompt, "")
	}
	require.Len(t, tracesIn(folder), mostTraces)
}
