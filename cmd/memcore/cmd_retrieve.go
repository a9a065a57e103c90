package main

import (
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/app"
)

func retrieveCommand(a *cli) *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use:   "retrieve QUERY|-",
		Short: "Print what memory adds to a prompt, as agents get it, or nothing",
		Long: `Print the memory block that a prompt would get: the hits above the threshold and within the token
budget, safe for a model to read. If nothing is relevant, print nothing. Problems of the index are
reported on standard error. 'memcore explain' says why each candidate is in it or not.`,
		Args: arguments(cobra.MinimumNArgs(1), "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(cmd); err != nil {
				return err
			}
			text, err := a.queryText(args)
			if err != nil {
				return err
			}
			if !a.Settings.Enabled {
				a.note(app.TurnedOff)
			}
			answer, err := a.Memory().Retrieve(cmd.Context(), retrieveRequest(a, q, text))
			if err != nil {
				return withHint(err)
			}
			a.noteResult(answer.Result)
			if a.json {
				return a.printJSON(answer)
			}
			if answer.Block != "" {
				answer.Block += "\n"
			}
			return a.print(answer.Block)
		},
	}
	q.add(cmd)
	return cmd
}
