package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/cmd/memcore/early"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/daemon/address"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/text/plain"
)

const (
	// hookMemory is where a hook begins to collect garbage, in bytes.
	hookMemory = 256 << 20
	// keptPart of each end of longer texts stays, in bytes.
	keptPart = 256 << 10
)

// readEvent reads an event. cut says what is left out.
func readEvent(in io.Reader) (data []byte, cut string, err error) {
	data, err = io.ReadAll(io.LimitReader(in, early.MaxEvent+1))
	if err != nil || len(data) <= early.MaxEvent {
		return data, "", err
	}
	data, left, err := hook.Shorten(io.MultiReader(bytes.NewReader(data), in), keptPart, early.MaxEvent)
	return data, fmt.Sprintf("the event was too long: %.1f MB in the middle of its texts were left out", float64(left)/(1<<20)), err
}

const hookHelp = `Answer a hook of a coding agent: read its event from standard input, and write what it adds to the
conversation to standard output. Agents run this command; 'memcore init' configures them.

At a prompt it adds relevant memory and the rules that apply; at the start of a session curated
memory that the agent does not load itself; when a tool touches files, the rules and folder memory
for them; when a command fails as it did in earlier sessions, what worked then. Each is added once a
session. At the end of a turn it records the messages in the session.

Within memory.hook.budget from when it has read the event it answers, or is silent. The exit code is
always 0, since a hook that fails would stop the agent. 'memcore explain --last' shows what it did.`

func hookCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "hook " + strings.Join(agents.Names(), "|"),
		Short: "Answer a hook of a coding agent",
		Long:  hookHelp,
		// Ignore the flags of newer releases.
		DisableFlagParsing: true,
		// Run nothing that may fail before runHook handles errors.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				fmt.Fprintf(a.stderr, "%s\n\n%s", hookHelp, cmd.UsageString()) // standard output is for the agent
				return nil
			}
			if slices.Equal(args, []string{lateFlag}) {
				return recordLate(cmd.Context(), a)
			}
			agent := ""
			if at := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") }); at >= 0 {
				agent = args[at]
			}
			runHook(cmd.Context(), a, agent)
			return nil
		},
	}
}

// isHook reports whether the arguments run a hook.
func isHook(args []string) bool {
	at := slices.Index(args, "hook")
	return at >= 0 && (at == 0 || at+1 < len(args) && slices.Contains(agents.Names(), args[at+1]))
}

// A gate lets the first answer out.
type gate struct{ shut atomic.Bool }

// pass shuts an open gate, runs do, and reports true.
func (g *gate) pass(do func()) bool {
	open := g.shut.CompareAndSwap(false, true)
	if open {
		do()
	}
	return open
}

// A hookRun answers one event in time, or is silent.
type hookRun struct {
	*cli
	agent string // its name
	out   gate
	event atomic.Pointer[hook.Event] // once it is read
	timer *time.Timer                // ends the work when time is up
	began atomic.Pointer[time.Time]  // when that time did; nil until the agent has sent the event
	slow  atomic.Pointer[string]     // why the daemon did not answer, if it was late
}

func runHook(ctx context.Context, a *cli, agent string) {
	// A hook ends before collecting garbage is worth its time.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(hookMemory)
	ignoreBrokenPipes()
	// Agents may treat standard error as a failure.
	a.logFrom(noLog)
	signalled := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h := &hookRun{cli: a, agent: agent, timer: time.AfterFunc(early.EventWait, stop)}
	defer h.timer.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil { // an exit code would stop the agent
				h.keepProblem(a.Workspace, fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
			}
		}()
		h.answer(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return
	}
	reason := turn.ReasonLate
	switch {
	case signalled.Err() != nil:
		reason = "the agent ended the hook"
	case h.began.Load() == nil:
		reason = fmt.Sprintf("the agent did not send the whole event within %v", early.EventWait)
	}
	if !h.out.pass(func() { h.keepLate(reason) }) { // the answer is out and being recorded
		waitFor(done, recordTime)
	}
}

// hookBudget is the budget from the environment, known before files are read.
func hookBudget() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("MEMCORE_HOOK_BUDGET")); err == nil && d > 0 {
		return d
	}
	return defaultHookBudget
}

const defaultHookBudget = 300 * time.Millisecond

// spareTime lets the timer of a hook end it first.
const spareTime = 20 * time.Millisecond

// A lateHook is what the journal is to say of a hook that was late.
type lateHook struct {
	Event hook.Event
	Entry journal.Entry
}

// keepLate lets another process write the journal and prepare the next hook: here the agent would
// wait for that.
func (h *hookRun) keepLate(reason string) {
	late := lateHook{h.known(), journal.Entry{Undelivered: reason, Answer: journal.Answer{Notes: h.notes()}}}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		data, err := json.Marshal(late)
		if err == nil {
			_ = daemon.Run(data, "hook", lateFlag)
		}
	}()
	waitFor(sent, handOver)
}

// known is what is known of the event by now.
func (h *hookRun) known() hook.Event {
	if e := h.event.Load(); e != nil {
		return *e
	}
	return hook.Event{Agent: h.agent, Name: "its event is not known", Kind: hook.Other}
}

// notes say why the daemon did not answer.
func (h *hookRun) notes() []string {
	if why := h.slow.Load(); why != nil {
		return []string{*why}
	}
	return nil
}

// lateFlag makes hook read a lateHook from standard input.
const lateFlag = "--late"

// recordLate writes what the journal is to say, then starts the daemon: the next hook is faster.
func recordLate(ctx context.Context, a *cli) error {
	var late lateHook
	if err := json.NewDecoder(io.LimitReader(a.stdin, early.MaxEvent)).Decode(&late); err != nil {
		return err
	}
	here, err := a.In(app.DirOf(late.Event, a.From()))
	here.Record(late.Event, late.Entry)
	if err != nil || late.Event.Kind == hook.Tool || !here.Settings.Daemon.Start {
		return err
	}
	return startDaemon(ctx, here)
}

const (
	// recordTime is what a late hook has to record what it did.
	recordTime = 100 * time.Millisecond
	// handOver is what it has to start the process that keeps its trace.
	handOver = time.Second
)

// waitFor waits until done is closed, at most for a time.
func waitFor(done <-chan struct{}, most time.Duration) {
	select {
	case <-done:
	case <-time.After(most):
	}
}

func (h *hookRun) keepProblem(w *app.Workspace, problem string) {
	w.Record(h.known(), journal.Entry{Answer: journal.Answer{Problems: []string{problem}, Notes: h.notes()}})
}

// deliver writes the reply to an event. If that fails, the journal says so, and the next reply
// tells what was done.
func (h *hookRun) deliver(answer httpapi.HookReply, e hook.Event, dir string) {
	if _, err := io.WriteString(h.stdout.raw, answer.Reply); err != nil {
		here, _ := h.In(dir)
		here.Record(e, journal.Entry{Undelivered: fmt.Sprintf("it could not be written: %v", err)})
	} else if len(answer.Told) > 0 {
		here, _ := h.In(dir)
		ctx, stop := context.WithTimeout(context.Background(), recordTime)
		defer stop()
		_ = here.Notes().Proposals().Told(ctx, answer.Told...) // else it is told again
	}
	beginFirstIndex(h.cli, answer)
}

// fail says once a session that there is no memory: no prompt would show it.
func (h *hookRun) fail(w *app.Workspace, e hook.Event, err error) {
	_, _ = h.stdout.raw.Write(e.Reply("", "memcore: this session has no memory: "+plain.OneLine(err.Error())+"; 'memcore doctor' says more"))
	h.keepProblem(w, err.Error())
}

// answer lets the daemon answer, or else this process.
func (h *hookRun) answer(ctx context.Context) {
	reading := time.Now()
	data, cut, err := readEvent(h.stdin)
	began := early.Began(reading)
	h.began.Store(&began)
	h.timer.Reset(time.Until(began.Add(hookBudget())))
	var e hook.Event
	if err == nil {
		e, err = hook.Parse(h.agent, data)
	}
	if err != nil {
		h.out.pass(func() { h.keepProblem(h.Workspace, err.Error()) })
		// For a person who tries the command.
		fmt.Fprintf(h.stderr, "memcore: hook: %v\n", err)
		return
	}
	other := agents.RunByOther(e.Agent, os.Getenv)
	if other != "" || e.Kind == hook.Other || e.IsQuiet() {
		h.out.pass(func() { h.skip(e, other) })
		return
	}
	e.Cut, e.ID = cut, cmp.Or(early.Asked.ID, journal.NewID())
	h.event.Store(&e)
	dir := app.DirOf(e, h.From())
	answer, release, err := h.byDaemon(ctx, e, dir, data)
	if errors.Is(err, daemon.ErrAway) && e.Kind != hook.Tool {
		answer, release, err = h.byNewDaemon(ctx, e, dir, data)
	}
	if err != nil {
		if slow := (*app.SlowDaemonError)(nil); errors.As(err, &slow) {
			h.slow.Store(&slow.Why)
		}
		h.answerHere(ctx, e, dir, err)
		_ = replaceDaemon(ctx, h.Workspace, release) // an older one may not know the request
		return
	}
	h.out.pass(func() { h.deliver(answer, e, dir) })
	_ = replaceDaemon(ctx, h.Workspace, release)
}

// byDaemon returns the answer of the daemon, which may have been asked before main.
func (h *hookRun) byDaemon(ctx context.Context, e hook.Event, dir string, data []byte) (answer httpapi.HookReply, release string, err error) {
	switch asked := early.Asked; {
	case asked.ID == "":
		return h.HookByDaemon(ctx, e, dir, data, 0)
	case errors.Is(asked.Err, os.ErrDeadlineExceeded) && asked.Works:
		return answer, "", app.DaemonWasLate(address.WorkWait, true)
	case errors.Is(asked.Err, os.ErrDeadlineExceeded):
		return answer, "", app.DaemonWasLate(address.HookWait, false)
	case asked.Err != nil:
		return answer, asked.Release, asked.Err
	default:
		return answer, asked.Release, json.Unmarshal(asked.Body, &answer)
	}
}

// byNewDaemon starts the daemon and lets it answer: what it opens serves the next hooks, too.
func (h *hookRun) byNewDaemon(ctx context.Context, e hook.Event, dir string, data []byte) (answer httpapi.HookReply, release string, err error) {
	here, err := h.In(dir)
	if err != nil || !here.Settings.Daemon.Start || here.Override() != "" || startDaemon(ctx, here) != nil {
		return answer, "", daemon.ErrAway
	}
	for {
		answer, release, err = h.HookByDaemon(ctx, e, dir, data, max(time.Until(h.began.Load().Add(address.WorkWait)), time.Millisecond))
		if !errors.Is(err, daemon.ErrAway) || time.Since(*h.began.Load()) > address.HookWait {
			return answer, release, err
		}
		time.Sleep(2 * time.Millisecond) // until it listens
	}
}

// skip leaves an event to another agent's own hook; "" if there is nothing to do.
func (h *hookRun) skip(e hook.Event, other string) {
	if other == "" || e.Kind != hook.Prompt && e.Kind != hook.SessionStart {
		return
	}
	here, _ := h.In(app.DirOf(e, h.From()))
	here.Record(e, journal.Entry{Answer: journal.Answer{Reason: journal.ReasonSkipped + other + " runs it and has a hook of its own"}})
}

// enoughTime is what a hook needs to do the daemon's work itself.
const enoughTime = 100 * time.Millisecond

// answerHere answers in this process, since the daemon did not.
func (h *hookRun) answerHere(ctx context.Context, e hook.Event, dir string, why error) {
	here, err := h.In(dir)
	if err != nil {
		h.out.pass(func() { h.fail(here, e, err) })
		return
	}
	until := h.began.Load().Add(here.Settings.Hook.Budget)
	if slow := (*app.SlowDaemonError)(nil); errors.As(why, &slow) && slow.Works && time.Until(until) < enoughTime {
		h.out.pass(func() {
			here.Record(e, journal.Entry{Undelivered: turn.ReasonLate, Answer: journal.Answer{Notes: h.notes()}})
		})
		return
	}
	noDaemon := errors.Is(why, daemon.ErrAway)
	if !noDaemon { // the daemon may still answer, for nobody
		own := e
		own.ID = journal.NewID()
		here.Record(e, journal.Entry{Instead: own.ID})
		e = own
		h.event.Store(&e)
	}
	h.timer.Reset(time.Until(until))
	with := here.WithService
	if e.Kind == hook.Tool && e.Failed == nil {
		with = here.WithoutIndex
	}
	err = with(ctx, func(s *app.Service) error {
		timed, stop := context.WithDeadline(ctx, until.Add(spareTime)) // so that a slow part is left out in time
		defer stop()
		answer := s.HookReply(timed, e, h.notes()...)
		h.out.pass(func() { h.deliver(answer, e, dir) })
		return nil
	})
	if ctx.Err() != nil {
		return // runHook says so in the journal
	}
	if err != nil {
		h.out.pass(func() { h.fail(here, e, err) })
	}
}
