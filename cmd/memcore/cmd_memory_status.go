package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/plain"
)

func memoryStatusCommand(a *cli) *cobra.Command {
	var turns, tokens int
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print one line for a status bar: files, tokens, share of the context window",
		Long: `Print one line for a status bar: memory files, their tokens, and their share of the context window.
--turns and --session-tokens add what an agent knows of its session.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !a.Settings.Enabled {
				return a.print("[memory is off]\n")
			}
			m, err := a.Curated().Layer().Load(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(m.Usage)
			}
			line := app.Footer(m)
			if turns > 0 || tokens > 0 {
				line += fmt.Sprintf(" [Session: %s, %s tokens]", plain.Count(turns, "turn"), plain.Thousands(tokens))
			}
			return a.print(line + "\n")
		},
	}
	cmd.Flags().IntVar(&turns, "turns", 0, "turns of the session so far, `N`")
	cmd.Flags().IntVar(&tokens, "session-tokens", 0, "tokens of the session so far, `N`")
	return cmd
}
