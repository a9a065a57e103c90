package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/workspace"
)

func evalInitCommand(a *cli) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Draft questions to your own memory",
		Long: `Write a file of cases for 'memcore eval run' (default ` + eval.CasesFile + `): sentences of your documents
with one word left out, for you to turn into questions, and small talk that must get nothing.`,
		Args: arguments(cobra.MaximumNArgs(1), "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := eval.CasesFile
			if len(args) > 0 {
				name = args[0]
			}
			return draft(cmd.Context(), a, name, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE")
	return cmd
}

func draft(ctx context.Context, a *cli, name string, force bool) error {
	at, err := a.Folders()
	if err != nil {
		return err
	}
	registered, err := workspace.Load(at.Sources())
	if err != nil {
		return fmt.Errorf("draft cases: %w", err)
	}
	text, err := eval.Draft(ctx, a.Index().ProjectSources(registered))
	if err != nil {
		return fmt.Errorf("draft cases: %w", err)
	}
	if force {
		err = writeWhole(name, text)
	} else {
		path := paths.Absolute(name)
		err = safefile.Create(filepath.Dir(path), filepath.Base(path), text, 0o600)
	}
	if errors.Is(err, fs.ErrExist) {
		return kind.Usagef("%s exists; name another file, or overwrite it with --force", name)
	}
	if err != nil {
		return fmt.Errorf("draft cases: %w", err)
	}
	return a.print(plain.Line("%s drafted: turn its sentences into questions, then run", name) + "\n" + plain.Line("  memcore eval run --data %s", name) + "\n")
}
