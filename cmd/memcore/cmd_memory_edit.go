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

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/safefile"
)

var errNoEditor = errors.New("no editor is set")

// editor returns the command line of the user's editor.
func editor() (string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if command := strings.TrimSpace(os.Getenv(name)); command != "" {
			return command, nil
		}
	}
	return "", kind.Hint(errNoEditor, "set EDITOR, for instance EDITOR=vi")
}

func memoryEditCommand(a *cli) *cobra.Command {
	var to targetFlags
	cmd := &cobra.Command{
		Use:   "edit",
		Short: "Open the project's memory file, or your own, in $EDITOR",
		Long: `Open the project's memory file (--global: your own) in $VISUAL or $EDITOR, then report problems in
it.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return editMemory(cmd.Context(), a, to)
		},
	}
	to.add(cmd)
	return cmd
}

func editMemory(ctx context.Context, a *cli, to targetFlags) error {
	command, err := editor()
	if err != nil {
		return err
	}
	layer := a.Curated().Layer()
	target, err := layer.Target(to.global, to.private)
	if err != nil {
		return err
	}
	if err := safefile.MakeFolder(filepath.Dir(target.File), target.Mode()); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	_, err = os.Stat(target.File)
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := ignoreTarget(a, target); err != nil {
		return err
	}
	edit := editing(ctx, command, target.File)
	edit.Stdin, edit.Stdout, edit.Stderr = a.stdin, a.stdout.raw, a.stderr.raw
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
	noteCurated(ctx, a, m)
	return nil
}

// editing opens a file in an editor, which may have arguments.
func editing(ctx context.Context, command, file string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		words := append(strings.Fields(command), file)
		return exec.CommandContext(ctx, words[0], words[1:]...)
	}
	return exec.CommandContext(ctx, "/bin/sh", "-c", command+` "$@"`, command, file)
}
