package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/workspace"
)

func indexCommand(a *cli) *cobra.Command {
	var rebuild, conversations bool
	var forget []string
	cmd := &cobra.Command{
		Use:   "index [PATH…]",
		Short: "Update the index from the files",
		Long: `Index Markdown files and conversation logs: those of the project, and of each PATH, a file or
folder, that was ever named for it. --forget takes a PATH out again, or with '.' the project's own
files. Your global memory (~/.beans) is always included. Unchanged files cost nothing.

All working directories of a repository have one memory, with the files of its main checkout.

--engine moves the vectors to another engine, where they stay. Nothing is embedded again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := a.Folders()
			if err != nil {
				return err
			}
			if _, err := a.Index().Engine(at).Writable(); err != nil {
				return err
			}
			if err := registerSources(a, cmd, at, args, forget, conversations); err != nil {
				return err
			}
			a.Remember(cmd.Context())
			if err := indexAt(cmd.Context(), a, at, rebuild); err != nil {
				return err
			}
			first, err := a.FirstIndex()
			if err == nil {
				err = first.Forget()
			}
			if err != nil {
				return err
			}
			sessions, logs, err := a.Sessions().Retain(cmd.Context())
			if sessions+logs > 0 {
				a.note("deleted %s older than %s (memory.sessions.keep)", removedText(sessions, logs), a.Settings.Sessions.Keep)
			}
			return err
		},
	}
	f := cmd.Flags()
	engineFlag(a, f)
	f.BoolVar(&rebuild, "rebuild", false, "make the index again; the old one answers meanwhile")
	f.BoolVar(&conversations, "conversations", false, "also index the logs that agents keep of this workspace in your home folder; =false stops it")
	f.StringArrayVar(&forget, "forget", nil, "`PATH` that is no longer a source of this project")
	return cmd
}

// registerSources adds and removes sources of the workspace.
func registerSources(a *cli, cmd *cobra.Command, at config.Folders, add, forget []string, conversations bool) error {
	chosen := cmd.Flags().Changed("conversations")
	if len(add)+len(forget) == 0 && !chosen {
		return nil
	}
	if err := tryNew(cmd.Context(), a, at, add); err != nil {
		return err
	}
	change := func(s *workspace.Sources) error {
		s.Workspace = a.Project
		for _, path := range forget {
			if err := s.Forget(a.InMainCheckout(path)); err != nil {
				return kind.Usagef("--forget: %w", err)
			}
		}
		for _, path := range add {
			if err := s.Add(a.InMainCheckout(path)); err != nil {
				return kind.Usagef("index: %w", err)
			}
		}
		if chosen {
			s.Conversations = &conversations
		}
		return nil
	}
	if agreed, err := agreeToRemove(cmd.Context(), a, at, change); err != nil || !agreed {
		return err
	}
	_, err := workspace.Change(cmd.Context(), at.Sources(), change)
	return err
}

// tryNew refuses a path that is no source yet and cannot be read: each later run would skip it.
func tryNew(ctx context.Context, a *cli, at config.Folders, add []string) error {
	known, err := workspace.Load(at.Sources())
	if err != nil {
		return err
	}
	for _, path := range add {
		path = a.InMainCheckout(path)
		if slices.Contains(known.Paths, paths.Absolute(path)) {
			continue
		}
		if err := source.Try(ctx, path); err != nil && !errors.Is(err, fs.ErrNotExist) { // that is said below
			return kind.Hint(kind.Usagef("index: %w; no source was added", err), "name a Markdown file, a conversation log, or a folder of them")
		}
	}
	return nil
}

// agreeToRemove says how many documents leave the index by a change of the sources, and asks, if
// there is a terminal to ask on.
func agreeToRemove(ctx context.Context, a *cli, at config.Folders, change func(*workspace.Sources) error) (bool, error) {
	was, err := workspace.Load(at.Sources())
	if err != nil {
		return false, err
	}
	is := was
	is.Paths = slices.Clone(was.Paths)
	if err := change(&is); err != nil {
		return false, err
	}
	left := map[string]bool{}
	for _, s := range a.Index().ProjectSources(was) {
		left[s.Name()] = true
	}
	for _, s := range a.Index().ProjectSources(is) {
		delete(left, s.Name())
	}
	if len(left) == 0 {
		return true, nil
	}
	gone := 0
	err = a.Index().With(ctx, func(m *core.Manager) error {
		for name := range left {
			_, found, err := m.Documents(ctx, core.DocumentsOptions{Source: name, Limit: 1})
			if err != nil {
				return err
			}
			gone += found
		}
		return nil
	})
	if err != nil || gone == 0 {
		return true, ctx.Err() // indexing reports what is wrong
	}
	a.note("%s will be taken out of the index; the files stay", plain.Count(gone, "document"))
	return !a.asks() || a.agrees(ctx, "Go on?", true), ctx.Err()
}

// engineFlag adds --engine.
func engineFlag(a *cli, f *pflag.FlagSet) {
	f.StringVar(&a.Flags.Engine, "engine", "", "`NAME` of what keeps the vectors: auto, flat, or lancedb in builds that have it (default: as configured)")
}

// indexTries bounds the attempts while another process moves the vectors.
const indexTries = 3

// indexAt indexes with the configured engine; "auto" is the index's, even if another process has
// just changed it.
func indexAt(ctx context.Context, a *cli, at config.Folders, rebuild bool) (err error) {
	for range indexTries {
		engines := a.Index().Engine(at)
		engine, unusable := engines.Writable()
		if unusable != nil {
			return unusable
		}
		err = a.Index().WithEngine(ctx, at, engine, func(m *core.Manager) error {
			return indexWith(ctx, a, m, engines, rebuild)
		})
		if !errors.Is(err, core.ErrEngine) {
			return err
		}
	}
	return err
}

func indexWith(ctx context.Context, a *cli, m *core.Manager, engines app.EngineChoice, rebuild bool) error {
	noteLostEngine(a, engines)
	show, done := a.progress()
	show, stop := a.noteWaiting(show)
	report, err := m.Index(ctx, core.IndexOptions{
		Rebuild: rebuild, Progress: show, KeepEngine: a.Settings.Engine == config.EngineAuto && !engines.Moves()})
	stop()
	done()
	if err != nil {
		if ctx.Err() != nil && report.Embedded > 0 {
			a.note("%s embedded in this run", plain.Count(report.Embedded, "chunk"))
		}
		return fmt.Errorf("index: %w", err)
	}
	if a.json {
		if err := a.printJSON(indexed{IndexReport: report, Engine: engines.Next, EngineReason: engines.NextReason}); err != nil {
			return err
		}
	} else {
		printReport(a, report)
		noteChosenEngine(a, engines, report)
	}
	if err := a.NotIndexed(); err != nil {
		return kind.Usagef("the workspace is not indexed: %w", err)
	}
	unread := report.Unreadable
	for _, skip := range report.Skipped {
		if skip.TooLarge {
			unread++
		}
	}
	if unread > 0 {
		return &partlyError{files: unread}
	}
	return nil
}

// indexed is the JSON of index.
type indexed struct {
	core.IndexReport
	Engine       string `json:"engine"` // of the vectors
	EngineReason string `json:"engineReason"`
}

// noteLostEngine warns that the vectors move because this build lacks their engine.
func noteLostEngine(a *cli, engines app.EngineChoice) {
	if lost := engines.Indexed; engines.Moves() && !app.IsBuilt(lost) {
		a.note("the vectors of this memory were made with %s, and %v; they move to %s now ('memcore index --engine %s' with a build that has it moves them back)",
			lost, app.NotBuilt(lost), engines.Next, lost)
	}
}

// noteChosenEngine reports what --engine did.
func noteChosenEngine(a *cli, engines app.EngineChoice, report core.IndexReport) {
	if engines.Moves() && report.Rebuilt == core.AskedFor {
		a.note("the vectors moved from %s to %s (%s)", engines.Indexed, engines.Next, engines.NextReason)
	}
	if a.Flags.Engine != "" && a.Settings.Embedder == config.EmbedderNone {
		a.note("there are no vectors (memory.embedder is none), so --engine decides nothing")
	}
}

func printReport(a *cli, r core.IndexReport) {
	if r.Rebuilt != "" && r.Rebuilt != core.AskedFor {
		a.note("the index was rebuilt: %s", r.Rebuilt)
	}
	fmt.Fprintf(a.stdout, "%s, %s: %d added, %d changed, %d removed, %d unchanged; %d embedded (%v)\n",
		plain.Count(r.Documents, "document"), plain.Count(r.Chunks, "chunk"), r.Added, r.Changed, r.Removed, r.Unchanged, r.Embedded, r.Took.Round(time.Millisecond))
	if r.Documents == 0 {
		a.note("no Markdown file and no conversation log was found; name a folder that has some: memcore index PATH")
	}
	if r.LogsGone > 0 {
		a.note("%s deleted since the last run; what they say stays (memcore forget --source PATH forgets one)", plain.Count(r.LogsGone, "log"))
	}
	for _, s := range r.Skipped {
		a.note("skipped %s: %s", s.Path, s.Reason)
	}
	for _, reason := range slices.Sorted(maps.Keys(r.SkippedLines)) {
		at := ""
		if first := r.SkippedAt[reason]; first != "" {
			at = " (" + first + ")"
			if r.SkippedLines[reason] > 1 {
				at = " (the first: " + first + ")"
			}
		}
		a.note("skipped in %s: %s%s", plain.Count(r.SkippedLines[reason], "line"), reason, at)
	}
	for _, u := range r.Unknown {
		a.note("passed over, since memcore does not know them, and said once: %s", u)
	}
	for _, warning := range r.Warnings {
		a.note("%s", warning)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Redacted)) {
		places := r.Redacted[kind]
		a.note("took out %s: %s, in %s", plain.Count(len(places), "secret"), kind, someOf(slices.Compact(slices.Clone(places))))
	}
	for _, text := range setAsideTexts(r.SetAside) {
		a.note("%s", text)
	}
	if r.Degraded != "" {
		a.note("%s without a vector yet, found by keywords only: %s", plain.Count(r.Pending, "chunk"), r.Degraded)
	}
}
