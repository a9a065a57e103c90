package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/jsonfile"
)

// started is about when the process was.
var started = time.Now()

// maxEvent is the largest event of a hook that is read: one holds a prompt, which people paste files into.
const maxEvent = 16 << 20

const hookHelp = `Answer a lifecycle hook of a coding agent: its event comes on standard input, what it is to add to the conversation goes to standard output.
'memcore init' puts this command into the agents' configuration.

At a prompt it adds what is relevant and was not given to the session before, at the start of a session curated memory that the agent does not
load itself. At the end of a turn it notes what was said in working memory. It takes memory.hook.budget at most, writes nothing if
that is not enough, and its exit code is always 0: a hook that fails would stop the agent. 'memcore explain --last' says what it did.`

func hookCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "hook " + strings.Join(hook.Agents, "|"),
		Short: "Answer a hook of a coding agent",
		Long:  hookHelp,
		// An older release may be given flags that a newer one has entered.
		DisableFlagParsing: true,
		// Nothing that could fail comes before the hook's own care for errors.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				fmt.Fprintf(a.stderr, "%s\n\n%s", hookHelp, cmd.UsageString()) // standard output is the agent's
				return nil
			}
			agent := ""
			if at := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") }); at >= 0 {
				agent = args[at]
			}
			a.hook(cmd.Context(), agent)
			return nil
		},
	}
}

// isHook tells command lines that an agent runs as a hook, of which no exit code but 0 may come: some stop the agent.
func isHook(args []string) bool {
	at := slices.Index(args, "hook")
	return at >= 0 && (at == 0 || at+1 < len(args) && slices.Contains(hook.Agents, args[at+1]))
}

// A gate lets one answer out, or none: the one that is in time.
type gate struct{ shut atomic.Bool }

// pass runs do if the gate is open, and shuts it. Nobody waits for do: it may write to somebody who does not read.
func (g *gate) pass(do func()) {
	if g.shut.CompareAndSwap(false, true) {
		do()
	}
}

// hook answers a hook, in time or not at all.
func (a *app) hook(ctx context.Context, agent string) {
	ignoreBrokenPipes()
	// Agents show what is on standard error to people, or take it for a failure. What is worth saying is in the trace.
	a.logFrom(noLog)
	var out gate
	var late atomic.Pointer[hook.Event] // the event at hand, once it is known
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	timer := time.AfterFunc(time.Until(started.Add(hookBudget())), stop)
	defer timer.Stop()
	a.budget = func(d time.Duration) { timer.Reset(time.Until(started.Add(d))) }
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil { // it must not become an exit code that stops the agent
				a.keepTrace(hook.Trace{At: time.Now(), Problems: []string{fmt.Sprintf("panic: %v\n%s", r, debug.Stack())}})
			}
		}()
		a.answerHook(ctx, agent, &out, &late)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		// Nothing more is written; the process ends, and what it was doing with it.
		out.pass(func() {
			if e := late.Load(); e != nil && e.Kind == hook.Prompt {
				a.keepLate(*e)
			}
		})
	}
}

// keepReceipt notes what a session was given, once it was. That it cannot be noted is nobody's problem.
func keepReceipt(ctx context.Context, given, record string, r hook.Receipt) {
	_ = hook.Given{Dir: given}.Note(ctx, r)
	if record != "" && r.Turn != nil {
		_ = use.NewLog(record).Note(ctx, *r.Turn)
	}
}

// keepLate leaves a trace of a hook that had not enough time, if that takes none.
func (a *app) keepLate(e hook.Event) {
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		if here, err := a.in(dirOf(e, a.from())); err == nil {
			here.keepTrace(hook.Trace{Event: e, At: time.Now(), Reason: turn.ReasonLate})
		}
	}()
	select {
	case <-kept:
	case <-time.After(20 * time.Millisecond):
	}
}

// hookBudget is what the environment says, which is known before any file is read.
func hookBudget() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("MEMCORE_HOOK_BUDGET")); err == nil && d > 0 {
		return d
	}
	return defaultHookBudget
}

const defaultHookBudget = 300 * time.Millisecond

func (a *app) answerHook(ctx context.Context, agent string, out *gate, late *atomic.Pointer[hook.Event]) {
	data, err := io.ReadAll(io.LimitReader(a.stdin, maxEvent))
	if err != nil {
		return
	}
	e, err := hook.Parse(agent, data)
	if err != nil {
		// Only a person who tries the command reads this; an agent shows it in its log at most.
		fmt.Fprintf(a.stderr, "memcore: hook: %v\n", err)
		return
	}
	// Cursor also runs the hooks of Claude Code, and would then ask twice.
	if e.Agent != hook.Cursor && os.Getenv("CURSOR_VERSION") != "" || e.Kind == hook.Other {
		return
	}
	late.Store(&e)
	dir := dirOf(e, a.from())
	answer, running, err := a.hookByDaemon(ctx, e, dir, data)
	if err == nil {
		out.pass(func() {
			io.WriteString(a.stdout, answer.Reply)
			keepReceipt(ctx, answer.Given, answer.Use, answer.Receipt)
		})
		_ = a.replaceDaemon(ctx, running)
		return
	}
	here, failed := a.in(dir)
	if failed != nil {
		a.keepTrace(hook.Trace{Event: e, At: time.Now(), Problems: []string{failed.Error()}})
		return
	}
	a.budget(here.settings.Hook.Budget)
	var trace hook.Trace
	failed = here.withService(ctx, func(s *service) error {
		reply, receipt, did := s.answer(ctx, e)
		trace = did
		out.pass(func() {
			a.stdout.Write(reply)
			keepReceipt(ctx, s.at.hooks(), s.at.use(), receipt)
		})
		return nil
	})
	if failed != nil {
		trace = hook.Trace{Event: e, At: time.Now(), Problems: []string{failed.Error()}}
	}
	if ctx.Err() != nil {
		return // the trace says that it was late
	}
	here.traceHook(trace)
	if here.settings.Daemon.Start && errors.Is(err, daemon.ErrAway) {
		_ = here.startDaemon(ctx) // the next hook is faster; without it, it is as fast as this one
	}
}

// daemonShare is how much of a hook's time the daemon is given before the hook does the work itself, and mute how long it is not asked again then.
const (
	daemonShare = 120 * time.Millisecond
	mute        = 30 * time.Second
)

// errUnasked means that the daemon was not asked.
var errUnasked = errors.New("the daemon was not asked")

// hookByDaemon asks the daemon to answer, and returns which release it is. The error wraps daemon.ErrAway if there is none.
func (a *app) hookByDaemon(ctx context.Context, e hook.Event, dir string, data []byte) (answer httpapi.HookReply, running string, err error) {
	if !a.daemonFits() {
		return answer, "", errUnasked
	}
	at, err := a.daemonPlace()
	if err != nil {
		return answer, "", errUnasked
	}
	silent := at.File("silent")
	if muted(silent) {
		return answer, "", errUnasked
	}
	event := json.RawMessage(data)
	if !json.Valid(data) { // the agent text
		if event, err = json.Marshal(string(data)); err != nil {
			return answer, "", errUnasked
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return answer, "", errUnasked
	}
	short, stop := context.WithTimeout(ctx, daemonShare)
	defer stop()
	running, err = at.Call(short, http.MethodPost, "/v1/hook", httpapi.HookRequest{Target: httpapi.Target{Workspace: dir}, Agent: e.Agent, Event: event}, &answer)
	if errors.Is(err, context.DeadlineExceeded) {
		_ = os.WriteFile(silent, nil, 0o600) // it may be busy with its first index, or hang
	}
	return answer, running, err
}

// muted tells whether the daemon left a hook without an answer a short time ago, which the file is the mark of. A clock that was put back
// since mutes nobody for years.
func muted(mark string) bool {
	info, err := os.Stat(mark)
	return err == nil && time.Since(info.ModTime()).Abs() < mute
}

// traceHook keeps a trace of what could have added something, and of what went wrong.
func (a *app) traceHook(t hook.Trace) {
	if k := t.Event.Kind; k == hook.Prompt || k == hook.SessionStart || len(t.Problems) > 0 {
		a.keepTrace(t)
	}
}

// keepTrace keeps what a hook has done for 'memcore explain --last', without secrets. That it cannot be kept is nobody's problem.
func (a *app) keepTrace(t hook.Trace) {
	t.Event.Prompt, _ = notes.Clean(t.Event.Prompt)
	t.Event.Answer, _ = notes.Clean(t.Event.Answer)
	if a.project == "" && a.prepare() != nil {
		return
	}
	at, err := a.place()
	if err == nil && os.MkdirAll(filepath.Dir(at.last()), 0o700) == nil {
		_ = jsonfile.Save(at.last(), t)
	}
}
