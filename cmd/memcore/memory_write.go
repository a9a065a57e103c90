package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/sanitize"
)

// targetFlags say which memory file is written to.
type targetFlags struct{ global, private bool }

func (t *targetFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.global, "global", false, "your own memory (~/.beans) instead of the project's")
	cmd.Flags().BoolVar(&t.private, "local", false, "the private .local.md file, which is kept out of git")
}

func memoryAddCommand(a *app) *cobra.Command {
	var to targetFlags
	var section string
	var yes bool
	cmd := &cobra.Command{
		Use:   "add TEXT",
		Short: "Add a line to the project's memory, or to your own",
		Long: `Add a text to the memory file of the project (--global: your own), at the end or at the end of a section. The change is shown; on a
terminal you are asked before it is written. A .local.md file that is made is added to .gitignore.`,
		Args: arguments(cobra.MinimumNArgs(1), "a text"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.wholeText(args)
			if err != nil {
				return err
			}
			return a.addMemory(cmd.Context(), to, section, text, yes)
		},
	}
	to.add(cmd)
	cmd.Flags().StringVar(&section, "section", "", "`HEADING` to add it under; made if it is not there")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a *app) addMemory(ctx context.Context, to targetFlags, section, text string, yes bool) error {
	return a.save(ctx, notes.SaveRequest{Content: text, Section: section, Target: to.name(), Private: to.private, Loose: true}, yes)
}

// name is the target's for package notes.
func (t targetFlags) name() string {
	if t.global {
		return notes.TargetGlobal
	}
	return notes.TargetProject
}

// save adds a text to a memory file, after having shown the change and asked, if there is somebody to ask.
func (a *app) save(ctx context.Context, r notes.SaveRequest, yes bool) error {
	journal, err := a.journal()
	if err != nil {
		return err
	}
	saver := notes.NewSaver(a.layer(), journal, notes.SaveOptions{Find: a.find, Confirm: func(ctx context.Context, c notes.Change) (bool, error) {
		return a.confirm(ctx, c.Path, c.Diff, yes)
	}})
	saved, err := saver.Save(ctx, r)
	switch {
	case errors.Is(err, notes.ErrNothing), errors.Is(err, notes.ErrTarget):
		return usagef("save: %w", err)
	case err != nil:
		return err
	}
	for _, f := range saved.Redacted {
		a.note("a secret was taken out: %s", f.Rule)
	}
	if saved.Ignored != "" {
		a.note("%s now leaves out %s", saved.Ignored, filepath.Base(saved.File))
	}
	if a.flags.json {
		return a.printJSON(saved)
	}
	if !saved.Written {
		a.note("%s: %s", saved.Path, saved.Reason)
		return nil
	}
	if r.Target != notes.TargetGlobal {
		a.remindOfTrust(ctx)
	}
	return a.print("added to " + saved.Path + "\n")
}

// confirm shows a change, and asks about it if there is somebody to ask.
func (a *app) confirm(ctx context.Context, path, diff string, yes bool) (bool, error) {
	if !a.flags.quiet {
		shown, _ := sanitize.Reveal(diff) // it shows what was in the file, which may be anything
		fmt.Fprint(a.stderr, shown)
	}
	if !a.asks() || yes {
		return true, nil
	}
	fmt.Fprintf(a.stderr, "Write this to %s? [Y/n] ", path)
	answer := a.answer(ctx)
	return answer == "" || answer == "y" || answer == "yes", ctx.Err()
}

// journal is that of all that memcore writes into memory files.
func (a *app) journal() (*notes.Journal, error) {
	root, err := a.settings.indexRoot()
	if err == nil {
		err = a.foreign()
	}
	if err != nil {
		return nil, err
	}
	return notes.OpenJournal(filepath.Join(root, journalFolder)), nil
}

// settle takes back what a command that was killed has changed by half, before files are read to plan a change of them. Where that
// fails, writing them does, too, and says why.
func (a *app) settle(ctx context.Context) {
	if journal, err := a.journal(); err == nil {
		_ = journal.Settle(ctx)
	}
}

func (a *app) keepPrivate(target static.Target) error {
	changed, err := target.KeepOutOfGit()
	if err != nil {
		return fmt.Errorf("%s is not opened, since git would see it: %w", target.Path, err)
	}
	if changed != "" {
		a.note("%s now leaves out %s", changed, filepath.Base(target.File))
	}
	return nil
}

// remindOfTrust reminds of the one reason why what was just written is not given to agents.
func (a *app) remindOfTrust(ctx context.Context) {
	if m, err := a.layer().Load(ctx); err == nil && !m.Trusted {
		a.note("agents are given it as reference only: the folder is not trusted ('memcore trust add')")
	}
}

func memoryEditCommand(a *app) *cobra.Command {
	var to targetFlags
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Open the project's memory file, or your own, in $EDITOR",
		Long:  `Open the project's memory file (--global: your own) in $VISUAL or $EDITOR, and say afterwards what is wrong with it, if something is.`,
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.editMemory(cmd.Context(), to)
		},
	}
	to.add(cmd)
	return cmd
}

func (a *app) editMemory(ctx context.Context, to targetFlags) error {
	command, err := editor()
	if err != nil {
		return err
	}
	layer := a.layer()
	target, err := layer.Target(to.global, to.private)
	if err != nil {
		return err
	}
	if err := beneath.MakeFolder(filepath.Dir(target.File), target.Mode()); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	_, err = os.Stat(target.File)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := a.keepPrivate(target); err != nil {
		return err
	}
	edit := editing(ctx, command, target.File)
	edit.Stdin, edit.Stdout, edit.Stderr = a.stdin, a.stdout, a.stderr
	if err := edit.Run(); err != nil {
		return fmt.Errorf("editor %q: %w", command, err)
	}
	if _, err := os.Stat(target.File); err != nil {
		a.note("%s was not written", target.Path)
		return nil
	}
	if info, err := os.Stat(target.File); err == nil && isNew && info.Mode().IsRegular() {
		err = os.Chmod(target.File, info.Mode().Perm()&(0o300|target.Mode()))
		if err != nil {
			return fmt.Errorf("memory: %w", err)
		}
	}
	m, err := layer.Load(ctx)
	if err != nil {
		return err
	}
	a.staticNotes(m)
	return nil
}

// editing is an editor's command line, which may have arguments, with a file behind it, as git runs it.
func editing(ctx context.Context, command, file string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		words := append(strings.Fields(command), file)
		return exec.CommandContext(ctx, words[0], words[1:]...)
	}
	return exec.CommandContext(ctx, "/bin/sh", "-c", command+` "$@"`, command, file)
}
