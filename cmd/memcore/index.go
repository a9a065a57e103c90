package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
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
user's global memory (~/.beans) always belongs to it. Files that have not changed cost nothing.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.register(cmd, args, forget, conversations); err != nil {
				return err
			}
			return a.withMemory(cmd.Context(), func(m *core.Manager) error {
				return a.index(cmd.Context(), m, rebuild)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&rebuild, "rebuild", false, "make the index anew beside the old one, then swap")
	f.BoolVar(&conversations, "conversations", false, "also read the logs that Claude Code, Gemini CLI, Codex and others keep of this workspace in your home folder; =false stops it")
	f.StringArrayVar(&forget, "forget", nil, "`PATH` that is no longer part of this workspace's memory")
	return cmd
}

// register notes what belongs to the memory of the workspace.
func (a *app) register(cmd *cobra.Command, add, forget []string, conversations bool) error {
	chosen := cmd.Flags().Changed("conversations")
	if len(add)+len(forget) == 0 && !chosen {
		return nil
	}
	at, err := a.place()
	if err != nil {
		return err
	}
	_, err = workspace.Change(cmd.Context(), at.sources, func(s *workspace.Sources) error {
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

func (a *app) index(ctx context.Context, m *core.Manager, rebuild bool) error {
	show, done := a.progress()
	show, stop := a.sayWaiting(show)
	report, err := m.Index(ctx, core.IndexOptions{Rebuild: rebuild, Progress: show})
	stop()
	done()
	if err != nil {
		return fmt.Errorf("index: %w", err)
	}
	if a.flags.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		a.printReport(report)
	}
	if report.Unreadable > 0 {
		return &partlyError{files: report.Unreadable}
	}
	return nil
}

func (a *app) printReport(r core.IndexReport) {
	if r.Rebuilt != "" && r.Rebuilt != "asked for" {
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
	if r.Degraded != "" {
		a.note("%s without a vector yet, found by keywords only: %s", count(r.Pending, "chunk"), r.Degraded)
	}
}

// waitBefore is how long indexing may not begin until a person is told why.
const waitBefore = time.Second

// sayWaiting tells that another process is indexing if work does not begin soon. The caller calls
// stop when it is done.
func (a *app) sayWaiting(show func(core.Progress)) (_ func(core.Progress), stop func()) {
	timer := time.AfterFunc(waitBefore, func() { a.note("waiting for another process that is indexing this memory") })
	return func(p core.Progress) {
		timer.Stop()
		if show != nil {
			show(p)
		}
	}, func() { timer.Stop() }
}

// progress shows a bar on a terminal, a line a stage otherwise.
func (a *app) progress() (show func(core.Progress), done func()) {
	if a.flags.quiet || a.flags.json && !isTerminal(a.stderr) {
		return nil, func() {}
	}
	if !isTerminal(a.stderr) {
		return a.plainProgress(), func() {}
	}
	var bar *progressbar.ProgressBar
	stage := ""
	finish := func() {
		if bar != nil {
			bar.Finish()
			fmt.Fprintln(a.stderr)
		}
	}
	return func(p core.Progress) {
		if p.Total == 0 {
			return
		}
		if p.Stage != stage {
			finish()
			stage = p.Stage
			bar = progressbar.NewOptions(p.Total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(stageName(stage)),
				progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionThrottle(65*time.Millisecond),
				progressbar.OptionEnableColorCodes(os.Getenv("NO_COLOR") == ""), progressbar.OptionFullWidth())
		}
		bar.Set(p.Done)
	}, finish
}

func (a *app) plainProgress() func(core.Progress) {
	last := ""
	return func(p core.Progress) {
		if p.Total > 0 && p.Stage != last {
			last = p.Stage
			a.note("%s: %d", strings.ToLower(stageName(p.Stage)), p.Total)
		}
	}
}

func stageName(stage string) string {
	if stage == "embed" {
		return "Embedding chunks"
	}
	return "Reading documents"
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
