package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/text/secret"
)

func saveCommand(a *cli) *cobra.Command {
	var r notes.SaveRequest
	var yes, undo, shared bool
	cmd := &cobra.Command{
		Use:   "save TEXT|-",
		Short: "Save a statement, as an agent's save_memory does",
		Long: `Save a text for this project, under "## Auto-saved Memories" or another section of a memory file
that is yours alone: beside BEANS.md it is BEANS.local.md, which git ignores. --shared saves to the
file that others get with the repository, --target global to your own memory for all projects.

memcore shows the change and asks on a terminal; elsewhere it needs --yes. It takes out secrets, and
writes nothing that the file already says.

--undo takes back the last change of memory files that memcore made from this workspace. If there is
none, it asks about the last one of another, on a terminal only. What init wrote, 'memcore uninstall'
takes back.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if undo {
				if len(args) > 0 {
					return kind.Usagef("save --undo takes no text")
				}
				return runUndo(cmd.Context(), a)
			}
			text, err := a.wholeText(args)
			if err != nil {
				return err
			}
			if r.Private && shared {
				return kind.Usagef("save: --local and --shared: only one of them")
			}
			r.Content, r.Private = text, r.Private || !shared && r.Target == notes.TargetProject
			return saveText(cmd.Context(), a, r, yes)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Section, "section", "", "`HEADING` to add it under (default: Auto-saved Memories)")
	f.StringVar(&r.Target, "target", notes.TargetProject, "`TARGET`, project, global or service (see 'init --server')")
	f.StringVar(&r.Supersedes, "supersedes", "", "`TEXT` or citation of the statement that this one corrects; it is struck through and no longer found")
	f.BoolVar(&shared, "shared", false, "the project's file that is shared with others")
	f.BoolVar(&r.Private, "local", false, "the private .local.md file, also with --target global")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&undo, "undo", false, "take back the last change of this workspace")
	return cmd
}

// saveToService asks on a terminal, and saves in the memory service.
func saveToService(ctx context.Context, a *cli, r notes.SaveRequest, yes bool) error {
	if !app.RemoteOf(a.Workspace).IsConfigured() {
		return kind.Hint(kind.Usagef("--target is service, but no memory service is configured"), "memcore init --server URL")
	}
	at := plain.Address(a.Settings.Service.URL)
	if agreed, err := confirm(ctx, a, "save", at, plain.Line("+%s\n", r.Content), yes); err != nil || !agreed {
		return err
	}
	answer, err := app.RemoteOf(a.Workspace).Save(ctx, r)
	if err != nil {
		return fmt.Errorf("save: %w", err)
	}
	if a.json {
		return a.printJSON(answer)
	}
	return a.printLine("%s", answer.Text)
}

// saveText shows a change, asks on a terminal, and writes it.
func saveText(ctx context.Context, a *cli, r notes.SaveRequest, yes bool) error {
	if r.Target == notes.TargetService {
		return saveToService(ctx, a, r, yes)
	}
	journal, err := a.Notes().Journal()
	if err != nil {
		return err
	}
	saver := notes.NewSaver(a.Curated().Layer(), journal, notes.SaveOptions{Find: a.Notes().Find, Confirm: func(ctx context.Context, c notes.Change) (bool, error) {
		return confirm(ctx, a, "save", c.Path, c.Diff, yes)
	}})
	saved, err := saver.Save(ctx, r)
	if err != nil {
		return err
	}
	noteSecrets(a, "the text", saved.Redacted)
	if saved.Ignored != "" {
		a.note("%s now ignores %s", saved.Ignored, filepath.Base(saved.File))
	}
	if a.json {
		return a.printJSON(saved)
	}
	if !saved.Written {
		a.note("%s: %s", saved.Path, saved.Reason)
		return nil
	}
	if r.Target != notes.TargetGlobal {
		if err := remindOfTrust(ctx, a); err != nil {
			return err
		}
	}
	return a.printLine("added to %s", saved.Path)
}

// noteSecrets says which secrets were taken out of a text, and of which of its lines.
func noteSecrets(a *cli, of string, found []secret.Finding) {
	if len(found) > 0 {
		a.note("took out %s of %s: %s", plain.Count(len(found), "secret"), of, secret.Places(found))
	}
}

// maxShownLine limits the characters of each line that an undo shows.
const maxShownLine = 100

func runUndo(ctx context.Context, a *cli) error {
	journal, err := a.Notes().Journal()
	if err != nil {
		return err
	}
	record, err := journal.UndoIf(ctx, func(last notes.Record) error { return agreeToUndo(ctx, a, last) })
	switch {
	case errors.Is(err, errNotUndone):
		a.note("nothing was taken back")
		return nil
	case errors.Is(err, notes.ErrNoRecord):
		a.note("%v; 'memcore uninstall' takes back what init wrote", err)
		return nil
	case errors.Is(err, notes.ErrChanged):
		showGivenUp(a, record)
		return kind.Hint(fmt.Errorf("undo: %w", err), "correct it by hand: memcore memory edit; another --undo takes back the change before it")
	case errors.Is(err, notes.ErrNotKept):
		return kind.Hint(fmt.Errorf("undo: %s: %w", record.Label, err), "another --undo takes back the change before it")
	case errors.Is(err, notes.ErrOvertaken):
		return kind.Hint(fmt.Errorf("undo: %w", err), "run it again: it shows what the last change is now")
	case err != nil:
		return fmt.Errorf("undo: %w", err)
	}
	if a.json {
		return a.printJSON(record)
	}
	var b strings.Builder
	for _, e := range record.Edits {
		fmt.Fprintln(&b, plain.Line("took back: %s", e.File()))
		lines := e.Lines()
		for _, line := range lines[:min(len(lines), maxLines)] {
			fmt.Fprintln(&b, plain.Line("  %s", plain.Shorten(line, maxShownLine)))
		}
		if more := len(lines) - maxLines; more > 0 {
			fmt.Fprintf(&b, "  … %d more\n", more)
		}
	}
	return a.print(b.String())
}

// showGivenUp shows the earlier text that the journal cannot restore.
func showGivenUp(a *cli, record notes.Record) {
	for _, e := range record.Edits {
		if e.Old == "" {
			continue
		}
		a.note("%s contained this before, which is saved nowhere else:", e.File())
		fmt.Fprint(a.stderr, strings.TrimSuffix(e.Old, "\n")+"\n")
	}
}

var errNotUndone = errors.New("not undone")

// agreeToUndo asks before it undoes another workspace's change, also with --yes.
func agreeToUndo(ctx context.Context, a *cli, last notes.Record) error {
	if last.Workspace == a.Project {
		return nil
	}
	a.note("nothing was changed from here; the last change is: %s, %s", last.Label, last.At.Local().Format(time.DateTime))
	for _, e := range last.Edits {
		a.note("  %s", e.File())
	}
	if !a.asks() {
		hint := "run it on a terminal, where it asks"
		if _, err := os.Stat(last.Workspace); err == nil {
			hint = "to take it back: memcore --workspace " + setup.Quoted(last.Workspace) + " save --undo"
		}
		return kind.Hint(kind.Usagef("the last change was made from another workspace"), hint)
	}
	if !a.agrees(ctx, "Take this back?", false) {
		return errNotUndone
	}
	return nil
}
