package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/internal/app/kind"
)

func evalMixedCommand(a *cli) *cobra.Command {
	var data []string
	o := eval.MixedOptions{}
	cmd := &cobra.Command{
		Use:   "mixed --data DIR",
		Short: "Measure small memories made of several data sets",
		Long: `Make small memories from parts of several collections, documents and logs together, and ask each as a
turn does: questions that it answers, and questions to collections outside it.

Of the first, the table has the share that gets nothing, the share that gets an answer, and how much
of what they get is relevant. Of the others it has the share that gets nothing: all of them, those to
sister collections (other chats), and those that a set itself marks as unanswerable.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(data) == 0 {
				return kind.Usagef("--data is empty, want folders of collections")
			}
			return evaluateMixed(cmd.Context(), a, data, o)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&data, "data", nil, "`DIR`s of the collections, or globs of such folders, separated by commas")
	f.IntSliceVar(&o.Sizes, "sizes", []int{5, 20, 100, 500}, "`CHUNKS` of a memory, about")
	f.IntVar(&o.Each, "each", 8, "`NUMBER` of memories of each size")
	f.Uint64Var(&o.Seed, "seed", 1, "`SEED` of the choice")
	engineFlag(a, f)
	return cmd
}

func evaluateMixed(ctx context.Context, a *cli, data []string, o eval.MixedOptions) error {
	collections, err := eval.CollectionsOf(data)
	if err != nil {
		return err
	}
	memories, err := eval.Mixed(collections, o)
	if err != nil {
		return err
	}
	open, _, err := collectionOpener(a)
	if err != nil {
		return err
	}
	report, err := eval.RunMixed(ctx, open, memories, func(done, total int) { a.note("%d of %d memories", done, total) })
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(report)
	}
	return a.print(report.Table())
}
