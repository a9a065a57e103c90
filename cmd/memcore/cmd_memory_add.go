package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
)

func memoryAddCommand(a *cli) *cobra.Command {
	var to targetFlags
	var section string
	var yes bool
	cmd := &cobra.Command{
		Use:   "add TEXT",
		Short: "Add a statement to the project's memory, or to your own",
		Long: `Add a text to the memory file of the project (--global: your own), at its end or at the end of a
section. memcore shows the change and asks on a terminal. It adds a new .local.md file to
.gitignore.`,
		Args: arguments(cobra.MinimumNArgs(1), "a text"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.wholeText(args)
			if err != nil {
				return err
			}
			return addMemory(cmd.Context(), a, to, section, text, yes)
		},
	}
	to.add(cmd)
	cmd.Flags().StringVar(&section, "section", "", "`HEADING` to add it under; a missing one is made")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func addMemory(ctx context.Context, a *cli, to targetFlags, section, text string, yes bool) error {
	return saveText(ctx, a, notes.SaveRequest{Content: text, Section: section, Target: to.name(), Private: to.private, Loose: true}, yes)
}
