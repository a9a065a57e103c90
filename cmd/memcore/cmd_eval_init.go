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
	var force, fromUse bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Draft questions to your own memory",
		Long: `Write a file of cases for 'memcore eval run' (default ` + eval.CasesFile + `): sentences of your documents
with one word left out, for you to turn into questions, and small talk that must get nothing.

--from-use takes the prompts for which agents got something. If the answer used it, the case expects those
documents; the other prompts become comments for you to decide about.`,
		Args: arguments(cobra.MaximumNArgs(1), "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := eval.CasesFile
			if len(args) > 0 {
				name = args[0]
			}
			return draft(cmd.Context(), a, name, force, fromUse)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE")
	cmd.Flags().BoolVar(&fromUse, "from-use", false, "make the cases from what agents got here and used")
	return cmd
}

func draft(ctx context.Context, a *cli, name string, force, fromUse bool) error {
	at, err := a.Folders()
	if err != nil {
		return err
	}
	var text []byte
	next := "turn its sentences into questions, then run"
	if fromUse {
		next = "read them, then run"
		entries, failed := a.Use().Entries()
		if err = failed; err == nil {
			text, err = eval.FromUse(entries)
		}
		if errors.Is(err, eval.ErrNothingUsed) {
			err = kind.Hint(err, "hooks of agents keep it, unless memory.hook.log is false")
		}
	} else {
		registered, failed := workspace.Load(at.Sources())
		if err = failed; err == nil {
			text, err = eval.Draft(ctx, a.Index().ProjectSources(registered))
		}
	}
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
	return a.print(plain.Line("%s drafted: %s", name, next) + "\n" + plain.Line("  memcore eval run --data %s", name) + "\n")
}
