package main

import (
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/eval"
)

func evalCompareCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two runs query by query",
		Long: `Compare two files that 'memcore eval run --json' has written. The table has the change of each score,
its 95 % interval (bootstrap), and its probability by chance (randomisation test); the queries that
changed most follow.`,
		Args: arguments(cobra.ExactArgs(2), "the reports of two runs"),
		RunE: func(_ *cobra.Command, args []string) error {
			earlier, err := eval.ReadReport(args[0])
			if err != nil {
				return err
			}
			later, err := eval.ReadReport(args[1])
			if err != nil {
				return err
			}
			comparison, err := eval.Compare(earlier, later)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(comparison)
			}
			return a.print(comparison.Table())
		},
	}
}
