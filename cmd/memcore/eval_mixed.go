package main

import (
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/eval"
)

func evalMixedCommand(a *app) *cobra.Command {
	var data []string
	o := eval.MixedOptions{}
	cmd := &cobra.Command{
		Use:   "mixed --data DIR",
		Short: "Measure what small memories of several data sets give",
		Long: `Make small memories of parts of several collections, documents and logs together, and ask each what a turn would be given:
questions whose answers are in it, and questions to collections that are not. Printed are, of the first, how many get nothing
and how many an answer, and how much of what they get answers; of the others, how many get nothing: all of them, those to sister
collections (other chats), and those that a set itself says have no answer.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(data) == 0 {
				return usagef("--data is empty, want folders of collections")
			}
			var collections []eval.Collection
			for _, pattern := range data {
				some, err := eval.Collections(pattern, "")
				if err != nil {
					return err
				}
				collections = append(collections, some...)
			}
			memories, err := eval.Mixed(collections, o)
			if err != nil {
				return err
			}
			open, _, err := a.collectionOpener()
			if err != nil {
				return err
			}
			report, err := eval.RunMixed(cmd.Context(), open, memories, func(done, total int) { a.note("%d of %d memories", done, total) })
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(report)
			}
			return a.print(report.Table())
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&data, "data", nil, "`DIR`s of the collections, or globs of such folders, separated by commas")
	f.IntSliceVar(&o.Sizes, "sizes", []int{5, 20, 100, 500}, "`CHUNKS` of a memory, about")
	f.IntVar(&o.Each, "each", 8, "`NUMBER` of memories of each size")
	f.Uint64Var(&o.Seed, "seed", 1, "`NUMBER` that the choice depends on")
	a.engineFlag(f)
	return cmd
}
