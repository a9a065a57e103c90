package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/static"
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
			text, err := a.queryText(args)
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
	target, err := a.layer().Target(to.global, to.private)
	if err != nil {
		return err
	}
	before, err := target.Read()
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	after, err := static.Insert(before, section, text)
	switch {
	case errors.Is(err, static.ErrNothing):
		return usagef("memory add: %w: the text is empty", err)
	case errors.Is(err, static.ErrSaid):
		a.note("%s: %v", target.Path, err)
		return nil
	case err != nil:
		return fmt.Errorf("memory: %w", err)
	}
	fmt.Fprint(a.stderr, udiff.Unified("a/"+target.Path, "b/"+target.Path, before, after))
	if a.asks() && !yes {
		fmt.Fprintf(a.stderr, "Write this to %s? [Y/n] ", target.Path)
		if answer := a.answer(ctx); ctx.Err() != nil || answer != "" && answer != "y" && answer != "yes" {
			a.note("nothing was written")
			return ctx.Err()
		}
	}
	if err := target.Write(before, after); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if err := a.keepPrivate(target); err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(map[string]string{"file": target.File, "path": target.Path})
	}
	a.saidButNotTrusted(ctx, to)
	return a.print("added to " + target.Path + "\n")
}

func (a *app) keepPrivate(target static.Target) error {
	changed, err := target.KeepOutOfGit()
	if err != nil {
		return fmt.Errorf("%s is written, but git may still see it: %w", target.Path, err)
	}
	if changed != "" {
		a.note("%s now leaves out %s", changed, filepath.Base(target.File))
	}
	return nil
}

// saidButNotTrusted reminds of the one reason why what was just written is not given to agents.
func (a *app) saidButNotTrusted(ctx context.Context, to targetFlags) {
	if to.global {
		return
	}
	if m, err := a.layer().Load(ctx); err == nil && !m.Trusted {
		a.note("agents are not given it yet: the folder is not trusted ('memcore trust add')")
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
	if err := os.MkdirAll(filepath.Dir(target.File), 0o755); err != nil {
		return fmt.Errorf("memory: %w", err)
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
	if err := a.keepPrivate(target); err != nil {
		return err
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
