package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/workspace"
)

func indexCommand(a *app) *cobra.Command {
	var rebuild, conversations bool
	var forget []string
	cmd := &cobra.Command{
		Use:   "index [PATH…]",
		Short: "Bring the index in step with the files",
		Long: `Index Markdown files and conversation logs. PATHs, files or folders, are remembered as the memory of
this workspace; without any, those remembered so far are indexed, or else the workspace itself. The
user's global memory (~/.beans) always belongs to it. Files that have not changed cost nothing.

With --engine the vectors move to another engine and stay there; what is embedded is not embedded again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := a.place()
			if err != nil {
				return err
			}
			if _, err := a.engineOf(at).writable(); err != nil {
				return err
			}
			if err := a.register(cmd, at, args, forget, conversations); err != nil {
				return err
			}
			if err := a.indexAt(cmd.Context(), at, rebuild); err != nil {
				return err
			}
			return a.embedSessions(cmd.Context())
		},
	}
	f := cmd.Flags()
	a.engineFlag(f)
	f.BoolVar(&rebuild, "rebuild", false, "make the index anew beside the old one, then swap")
	f.BoolVar(&conversations, "conversations", false, "also read the logs that Claude Code, Gemini CLI, Codex and others keep of this workspace in your home folder; =false stops it")
	f.StringArrayVar(&forget, "forget", nil, "`PATH` that is no longer part of this workspace's memory")
	return cmd
}

// register notes what belongs to the memory of the workspace.
func (a *app) register(cmd *cobra.Command, at place, add, forget []string, conversations bool) error {
	chosen := cmd.Flags().Changed("conversations")
	if len(add)+len(forget) == 0 && !chosen {
		return nil
	}
	_, err := workspace.Change(cmd.Context(), at.sources, func(s *workspace.Sources) error {
		s.Workspace = a.project
		for _, path := range forget {
			if err := s.Forget(path); err != nil {
				return usagef("--forget: %w", err)
			}
		}
		for _, path := range add {
			if err := s.Add(path); err != nil {
				return usagef("index: %w", err)
			}
		}
		if chosen {
			s.Conversations = conversations
		}
		return nil
	})
	return err
}

// engineFlag adds the flag of a command that makes an index.
func (a *app) engineFlag(f *pflag.FlagSet) {
	f.StringVar(&a.flags.engine, "engine", "", "`NAME` of what keeps the vectors: auto, flat, or lancedb in builds that have it (default: as configured)")
}

// indexTries is how often indexing looks again if other processes move the vectors meanwhile.
const indexTries = 3

// indexAt indexes with the engine that is configured; with that of the index, if it has one and any
// will do, also if another process has just moved it.
func (a *app) indexAt(ctx context.Context, at place, rebuild bool) (err error) {
	for range indexTries {
		engines := a.engineOf(at)
		engine, unusable := engines.writable()
		if unusable != nil {
			return unusable
		}
		err = a.withEngine(ctx, at, engine, func(m *core.Manager) error {
			return a.index(ctx, m, engines, rebuild)
		})
		if !errors.Is(err, core.ErrEngine) {
			return err
		}
	}
	return err
}

func (a *app) index(ctx context.Context, m *core.Manager, engines engineChoice, rebuild bool) error {
	a.sayEngineLost(engines)
	show, done := a.progress()
	show, stop := a.sayWaiting(show)
	report, err := m.Index(ctx, core.IndexOptions{
		Rebuild: rebuild, Progress: show, KeepEngine: a.settings.Engine == engineAuto && !engines.moves()})
	stop()
	done()
	if err != nil {
		if ctx.Err() != nil && report.Embedded > 0 {
			a.note("%s embedded in this run", count(report.Embedded, "chunk"))
		}
		return fmt.Errorf("index: %w", err)
	}
	if a.flags.json {
		if err := a.printJSON(indexed{IndexReport: report, Engine: engines.next, EngineReason: engines.nextReason}); err != nil {
			return err
		}
	} else {
		a.printReport(report)
		a.sharedReport(report.Shared)
		a.sayEngineChosen(engines, report)
	}
	if report.Unreadable > 0 {
		return &partlyError{files: report.Unreadable}
	}
	return nil
}

// indexed is what index prints as JSON.
type indexed struct {
	core.IndexReport
	Engine       string `json:"engine"`       // that keeps the vectors now
	EngineReason string `json:"engineReason"` // why this one
}

// sayEngineLost tells, before it happens, that a build without the engine of this memory moves it to
// another one: the person asked for an index that answers, and may prefer the other build.
func (a *app) sayEngineLost(engines engineChoice) {
	if lost := engines.indexed; engines.moves() && !isBuilt(lost) {
		a.note("the vectors of this memory were made with %s, and %v; they move to %s now ('memcore index --engine %s' with a build that has it moves them back)",
			lost, notBuilt(lost), engines.next, lost)
	}
}

// sayEngineChosen tells what a choice of engine has done, and what will undo it.
func (a *app) sayEngineChosen(engines engineChoice, report core.IndexReport) {
	if engines.moves() && report.Rebuilt == askedFor {
		a.note("the vectors moved from %s to %s (%s)", engines.indexed, engines.next, engines.nextReason)
	}
	if a.flags.engine == "" {
		return
	}
	if hidden := a.config.hidden["engine"]; hidden != "" && !strings.HasSuffix(hidden, " is "+engines.next) && !strings.HasSuffix(hidden, " is "+engineAuto) {
		a.note("%s: without --engine, the next 'memcore index' follows that", hidden)
	}
	if a.settings.Embedder == "none" {
		a.note("there are no vectors (memory.embedder is none), so --engine decides nothing")
	}
}

// askedFor is IndexReport.Rebuilt after --rebuild.
const askedFor = "asked for"

func (a *app) printReport(r core.IndexReport) {
	if r.Rebuilt != "" && r.Rebuilt != askedFor {
		a.note("the index was made anew: %s", r.Rebuilt)
	}
	fmt.Fprintf(a.stdout, "%s, %s: %d added, %d changed, %d removed, %d unchanged; %d embedded (%v)\n",
		count(r.Documents, "document"), count(r.Chunks, "chunk"), r.Added, r.Changed, r.Removed, r.Unchanged, r.Embedded, r.Took.Round(time.Millisecond))
	if r.Documents == 0 {
		a.note("no Markdown file and no conversation log was found; name a folder that has some: memcore index PATH")
	}
	for _, s := range r.Skipped {
		a.note("skipped %s: %s", s.Path, s.Reason)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.SkippedLines)) {
		a.note("skipped %s of logs: %s", count(r.SkippedLines[reason], "line"), reason)
	}
	for _, warning := range r.Warnings {
		a.note("%s", warning)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Redacted)) {
		a.note("took out %s: %s", count(r.Redacted[kind], "secret"), kind)
	}
	if r.Degraded != "" {
		a.note("%s without a vector yet, found by keywords only: %s", count(r.Pending, "chunk"), r.Degraded)
	}
}

// waitBefore is how long indexing may show no progress until a person is told why.
const waitBefore = time.Second

// sayWaiting tells that another process is indexing if work does not begin soon, and why it does not
// end if compaction takes long. The caller calls stop when it is done.
func (a *app) sayWaiting(show func(core.Progress)) (_ func(core.Progress), stop func()) {
	waiting := a.noteIfSlow("waiting for another process that is indexing this memory")
	compacting := func() bool { return false }
	return func(p core.Progress) {
			waiting()
			if show != nil {
				show(p)
			}
			if p.Stage == "compact" {
				compacting()
				compacting = a.noteIfSlow("making the index fast again after many changes")
			}
		}, func() {
			waiting()
			compacting()
		}
}

// noteIfSlow tells what takes time unless stop is called soon.
func (a *app) noteIfSlow(text string) (stop func() bool) {
	return time.AfterFunc(waitBefore, func() { a.note("%s", text) }).Stop
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
