package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/kind"
)

func readCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "read NAME|CITATION",
		Short: "Print what a line of a list, or a citation, stands for",
		Long: `Print the exchange or the section that a line of a list names, or the lines of a citation such as
notes/staging.md#L10-L20, at most 600 tokens, with the names of what is before and after it. Agents
open lines of their lists with it, or with the tool memory_read.`,
		Args: arguments(cobra.ExactArgs(1), "a name or a citation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := a.Memory().ReadPassage(cmd.Context(), a.TypedPassage(args[0]))
			if errors.Is(err, core.ErrNoPassage) {
				return kind.Hint(err, "names are those of 'memcore retrieve' in this workspace, and change with the path of a document; 'memcore index' reads what is new")
			}
			if err != nil {
				return withHint(err)
			}
			if a.json {
				return a.printJSON(map[string]string{"text": text})
			}
			return a.print(text + "\n")
		},
	}
}
