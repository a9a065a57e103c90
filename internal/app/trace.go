package app

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/safefile"
)

// DeliverHook writes an answer, then records what the session got: only the hook's process knows.
// It ignores errors of recording.
func DeliverHook(out io.Writer, answer httpapi.HookReply, keep func(hook.Trace)) {
	unwritten := deliver(out, answer)
	if trace := answer.Trace; trace != nil {
		if unwritten != nil {
			*trace = trace.Unwritten(unwritten)
		}
		keep(*trace)
	}
}

func deliver(out io.Writer, answer httpapi.HookReply) (unwritten error) {
	if _, err := io.WriteString(out, answer.Reply); err != nil {
		return err
	}
	ctx := context.Background() // record it even if time is up
	_ = hook.Records{Dir: answer.Records}.Add(ctx, answer.Receipt)
	if answer.Use != "" && answer.Receipt.Turn != nil {
		_ = use.NewLog(answer.Use).Note(ctx, *answer.Receipt.Turn)
	}
	return nil
}

// A DaemonReply is a HookReply with the trace as raw bytes: decoding and encoding it would take
// longer than the rest of a hook.
type DaemonReply struct {
	httpapi.HookReply
	Trace json.RawMessage `json:"trace"`
}

// Deliver is DeliverHook. cut is what was left out of the event.
func (r DaemonReply) Deliver(out io.Writer, cut string) {
	unwritten := deliver(out, r.HookReply)
	var head struct{ Event hook.Event }
	if len(r.Trace) == 0 || json.Unmarshal(r.Trace, &head) != nil {
		return
	}
	if beginsTurn(head.Event) && cut == "" && unwritten == nil {
		saveTrace(r.Last, head.Event, r.Trace)
		return
	}
	var t hook.Trace
	if json.Unmarshal(r.Trace, &t) != nil {
		return
	}
	if t.Event.Cut = cut; unwritten != nil {
		t = t.Unwritten(unwritten)
	}
	SaveTrace(r.Last, t)
}

// mostLater is how many events of its turn a trace keeps.
const mostLater = 20

// ReasonSkipped begins the reason of a hook that did nothing.
const ReasonSkipped = "the hook was skipped: "

// KeepTrace is for 'memcore explain --last'. It ignores errors.
func (w *Workspace) KeepTrace(t hook.Trace) {
	if w.Project == "" && w.Prepare() != nil {
		return
	}
	if at, err := w.Folders(); err == nil {
		SaveTrace(at.Last(), withoutSecrets(t))
	}
}

// mostTraces bounds the sessions with one.
const mostTraces = 8

// tracesIn returns a trace a session, the latest first.
func tracesIn(folder string) []string {
	files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	changed := func(file string) time.Time {
		if info, err := os.Stat(file); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	slices.SortStableFunc(files, func(a, b string) int { return changed(b).Compare(changed(a)) })
	return files
}

// together is the longest time between the hooks of two agents for one event.
const together = time.Minute

// LastTrace returns the trace of the last hook. A skipped hook does not count if another agent's
// ran for the same event.
func LastTrace(folder string) (hook.Trace, error) {
	var first hook.Trace
	for i, file := range tracesIn(folder) {
		trace, err := jsonfile.Load[hook.Trace](file)
		if i == 0 {
			first = trace
		}
		if err != nil || first.At.Sub(trace.At) > together {
			return first, err
		}
		if !strings.HasPrefix(trace.Reason, ReasonSkipped) {
			return trace, nil
		}
	}
	return first, nil
}

// TraceOf returns the trace of the last turn of a session, which is zero if there is none.
func TraceOf(folder, agent, session string) (hook.Trace, error) {
	return jsonfile.Load[hook.Trace](traceFile(folder, hook.Event{Agent: agent, Session: session}))
}

// SaveTrace writes a trace. An event within a turn goes into its prompt's trace.
func SaveTrace(folder string, t hook.Trace) {
	e := t.Event
	if !beginsTurn(e) {
		last, err := jsonfile.Load[hook.Trace](traceFile(folder, e))
		if err != nil {
			return
		}
		if !last.At.IsZero() {
			if last.Later = append(last.Later, t); len(last.Later) > mostLater {
				last.Later = last.Later[1:]
			}
			t = last
		}
	}
	if text, err := json.Marshal(t); err == nil {
		saveTrace(folder, e, text)
	}
}

// beginsTurn reports whether an event's trace replaces the one before.
func beginsTurn(e hook.Event) bool {
	return e.Kind == hook.Prompt || e.Kind == hook.SessionStart || e.Kind == hook.Other
}

// traceFile is the file of an event's session.
func traceFile(folder string, e hook.Event) string {
	session := fnv.New64a()
	fmt.Fprintf(session, "%s %s", e.Agent, e.Session)
	return filepath.Join(folder, fmt.Sprintf("%x.json", session.Sum64()))
}

func saveTrace(folder string, e hook.Event, text []byte) {
	if safefile.MkdirAll(folder, 0o700) != nil {
		return
	}
	_ = jsonfile.Write(traceFile(folder, e), append(text, '\n'))
	if files := tracesIn(folder); len(files) > mostTraces {
		for _, old := range files[mostTraces:] {
			_ = os.Remove(old)
		}
	}
}

const (
	// longestKept limits a text in a trace, in bytes.
	longestKept = 64 << 10
	// longestSecret limits the length of a secret, in bytes.
	longestSecret = 8 << 10
)

// withoutSecrets returns a trace without secrets.
func withoutSecrets(t hook.Trace) hook.Trace {
	t.Event.Prompt, t.Event.Answer = keptText(t.Event.Prompt), keptText(t.Event.Answer)
	return t
}

// keptText cuts a text. It looks beyond the limit for a secret at the end.
func keptText(text string) string {
	long := len(text) > longestKept
	text, _ = notes.Clean(strings.ToValidUTF8(text[:min(len(text), longestKept+longestSecret)], ""))
	if !long {
		return text
	}
	return strings.ToValidUTF8(text[:min(len(text), longestKept)], "") + "…"
}
