package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/eval"
)

func evalCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure retrieval on labelled data",
		Args:  cobra.ArbitraryArgs,
		RunE:  helpOrUnknown,
	}
	cmd.AddCommand(evalRunCommand(a))
	return cmd
}

func evalRunCommand(a *app) *cobra.Command {
	var data, level string
	cmd := &cobra.Command{
		Use:   "run --data DIR",
		Short: "Measure retrieval on a data set",
		Long: `Index every collection below a folder (corpus.jsonl, queries.jsonl and qrels.tsv in the layout of BEIR),
each in a temporary folder, ask its queries, and print recall, rank and what thresholds would do.
Vectors come from the cache where it has them.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				return usagef("--data is empty, want the folder of the collections")
			}
			if level != eval.LevelDocument && level != eval.LevelSession {
				return usagef("--level is %q, want %s or %s", level, eval.LevelDocument, eval.LevelSession)
			}
			report, err := a.evaluate(cmd.Context(), data, level)
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
	f.StringVar(&data, "data", "", "`DIR` of the collections, or a glob of such folders")
	a.engineFlag(f)
	f.StringVar(&level, "level", eval.LevelDocument, "what a hit counts as: its `document` or its session")
	return cmd
}

func (a *app) evaluate(ctx context.Context, data, level string) (eval.Report, error) {
	engine, err := chooseEngine(a.settings.Engine, a.config.origin["engine"], "", engineNames()).writable()
	if err != nil {
		return eval.Report{}, err
	}
	collections, err := eval.Collections(data)
	if err != nil {
		return eval.Report{}, err
	}
	at, err := a.place()
	if err != nil {
		return eval.Report{}, err
	}
	embedder, err := a.embedder(at)
	if err != nil {
		return eval.Report{}, err
	}
	open := func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		return core.Open(ctx, core.Options{
			Folder: folder, Sources: sources, Engine: engine, Embedder: embedder, Freshness: -1, Logger: a.log})
	}
	return eval.RunAll(ctx, open, collections, eval.Options{
		Level:    level,
		Progress: func(name string, done, total int) { a.note("%d of %d: %s", done, total, name) },
	})
}
