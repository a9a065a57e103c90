package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
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
		Args:  cobra.ArbitraryArgs,
		// Nothing that could fail comes before the hook's own care for errors.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error {
			a.hook(cmd.Context(), strings.Join(args, " "))
			return nil
		},
	}
}

// A gate lets one answer out, or none: the one that is in time.
type gate struct {
	mu   sync.Mutex
	shut bool
}

// pass runs do if the gate is open and shuts it.
func (g *gate) pass(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.shut {
		g.shut = true
		do()
	}
}

// hook answers a hook, in time or not at all.
func (a *app) hook(ctx context.Context, agent string) {
	// Agents show what is on standard error to people, or take it for a failure. What is worth saying is in the trace.
	a.logFrom(noLog)
	var out gate
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
		a.answerHook(ctx, agent, &out)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		out.pass(func() {}) // nothing more is written; the process ends, and what it was doing with it
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

func (a *app) answerHook(ctx context.Context, agent string, out *gate) {
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
	dir := dirOf(e, a.from())
	if reply, running, ok := a.hookByDaemon(ctx, e, dir, data); ok {
		out.pass(func() { io.WriteString(a.stdout, reply) })
		_ = a.replaceDaemon(ctx, running)
		return
	}
	here, err := a.in(dir)
	if err != nil {
		a.keepTrace(hook.Trace{Event: e, At: time.Now(), Problems: []string{err.Error()}})
		return
	}
	a.budget(here.settings.Hook.Budget)
	reply, trace := here.hookReply(ctx, e)
	out.pass(func() { a.stdout.Write(reply) })
	here.traceHook(trace)
	if here.settings.Daemon.Start {
		_ = here.startDaemon(ctx) // the next hook is faster; without it, it is as fast as this one
	}
}

// hookByDaemon asks the daemon to answer, and which release it is; ok is false if it does not.
func (a *app) hookByDaemon(ctx context.Context, e hook.Event, dir string, data []byte) (reply, running string, ok bool) {
	if !a.daemonFits() {
		return "", "", false
	}
	at, err := a.daemonPlace()
	if err != nil {
		return "", "", false
	}
	event := json.RawMessage(data)
	if !json.Valid(data) { // the agent text
		if event, err = json.Marshal(string(data)); err != nil {
			return "", "", false
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", false
	}
	var out httpapi.HookReply
	running, err = at.Call(ctx, http.MethodPost, "/v1/hook", httpapi.HookRequest{Target: httpapi.Target{Workspace: dir}, Agent: e.Agent, Event: event}, &out)
	if err != nil {
		return "", "", false
	}
	return out.Reply, running, true
}

// hookReply answers an event in this process.
func (a *app) hookReply(ctx context.Context, e hook.Event) (reply []byte, trace hook.Trace) {
	trace = hook.Trace{Event: e, At: time.Now()}
	err := a.withService(ctx, func(s *service) error {
		reply, trace = s.answer(ctx, e)
		return nil
	})
	if err != nil {
		trace.Problems = append(trace.Problems, err.Error())
	}
	return reply, trace
}

// traceHook keeps a trace of what could have added something, and of what went wrong.
func (a *app) traceHook(t hook.Trace) {
	if k := t.Event.Kind; k == hook.Prompt || k == hook.SessionStart || len(t.Problems) > 0 {
		a.keepTrace(t)
	}
}

// keepTrace keeps what a hook has done for 'memcore explain --last'. That it cannot be kept is nobody's problem.
func (a *app) keepTrace(t hook.Trace) {
	if a.project == "" && a.prepare() != nil {
		return
	}
	at, err := a.place()
	if err == nil && os.MkdirAll(filepath.Dir(at.last()), 0o700) == nil {
		_ = jsonfile.Save(at.last(), t)
	}
}
