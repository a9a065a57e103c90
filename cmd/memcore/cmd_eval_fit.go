package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/eval/fit"
	"github.com/memcore/memcore/internal/app/kind"
)

func evalFitCommand(a *cli) *cobra.Command {
	var o fitFlags
	cmd := &cobra.Command{
		Use:   "fit {--data DIR --small-talk FILE | --turns DIR}",
		Short: "Fit how evidence becomes a score to labelled data",
		Long: `Fit a relevance model: the weights of evidence, the coefficients of the score, its calibration, and
the default threshold. The command prints cross-validated figures first. The score is also fitted to
small memories made of parts of the collections. A data set (the first folder of a collection's name)
counts by the root of the number of its questions.

A model for the embedder uses the cosines of the configured embedder as they are, one for others uses
them on a scale that is measured with each embedder, and one for keywords uses none.

--turns fits another model instead: which prompts of agents get memory (core/relevance/turn.json). DIR
has at least two sets, as 'eval turns' reads them. The command first measures each set with a model
fitted to the others.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if len(o.turns) > 0 {
				return o.fitTurns(cmd.Context(), a)
			}
			return o.fitRelevance(cmd.Context(), a)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.data, "data", nil, "`DIR`s of the collections, or globs of such folders, separated by commas")
	f.StringSliceVar(&o.across, "across", nil, "`DIR`s of collections with questions in another language than their texts, to fit a model for such questions as well")
	f.IntSliceVar(&o.mixed, "mixed", []int{5, 10, 20, 50, 100, 200, 500}, "`CHUNKS` of the small memories; empty for none")
	f.StringVar(&o.smallTalk, "small-talk", "", "`FILE` of lines that must get nothing")
	f.StringVar(&o.out, "out", "", "`FILE` to write the model to (default: print it)")
	f.StringVar(&o.serves, "for", fit.ForEmbedder, "`WHICH` questions the model serves: embedder, others or keywords")
	f.StringSliceVar(&o.turns, "turns", nil, "`DIR`s of sets of prompts, separated by commas, to fit the model of turns to")
	f.Float64Var(&o.silence, "silence", 0.8, "share `X` of the prompts that want nothing that get nothing, for --turns")
	f.StringVar(&o.work, "work", "", "`DIR` that keeps the indexes of --turns for the next run of the same program (default: a temporary one)")
	f.BoolVar(&o.keep, "keep", false, "use the indexes in --work although another program made them, for changes that leave the index alone")
	f.StringSliceVar(&o.scripts, "scripts", nil, "`SCRIPTS` that the embedder knows, by their names in Unicode, such as Latin (default: all)")
	f.StringSliceVar(&o.languages, "languages", nil, "`LANGUAGES` that the embedder knows, such as en (default: all)")
	f.StringSliceVar(&o.embedders, "embedders", nil, "`FINGERPRINTS`, or their beginnings, of the embedders the model is for (default: the configured one)")
	engineFlag(a, f)
	return cmd
}

// fitFlags are the flags of 'eval fit'.
type fitFlags struct {
	data, across, scripts, languages, embedders []string
	smallTalk, out, serves                      string
	mixed                                       []int

	turns   []string
	silence float64
	work    string
	keep    bool
}

func (o fitFlags) check() error {
	switch {
	case len(o.turns) > 0 && (len(o.data) > 0 || o.smallTalk != ""):
		return kind.Usagef("--turns fits another model than --data and --small-talk, want one of them")
	case len(o.turns) > 0 && !(o.silence > 0 && o.silence < 1):
		return kind.Usagef("--silence is %g, want it between 0 and 1", o.silence)
	case len(o.turns) > 0:
		return nil
	case o.work != "" || o.keep:
		return kind.Usagef("--work and --keep are for --turns only")
	case len(o.data) == 0:
		return kind.Usagef("--data is empty, want folders of collections")
	case o.smallTalk == "":
		return kind.Usagef("--small-talk is empty, want a file of lines that must get nothing: the threshold depends on it")
	case !slices.Contains(fit.For, o.serves):
		return kind.Usagef("--for is %q, want embedder, others or keywords", o.serves)
	}
	return nil
}

func (o fitFlags) fitRelevance(ctx context.Context, a *cli) error {
	smallTalk, err := fit.ReadSmallTalk(o.smallTalk)
	if err != nil {
		return err
	}
	collections, err := eval.CollectionsOf(o.data)
	if err != nil {
		return err
	}
	if collections, err = fit.WithMixed(collections, o.mixed); err != nil {
		return err
	}
	if len(o.across) > 0 {
		across, err := eval.CollectionsOf(o.across)
		if err != nil {
			return err
		}
		collections = append(collections, across...)
	}
	open, embedder, err := collectionOpener(a)
	if err != nil {
		return err
	}
	sample, err := fit.Collect(ctx, open, collections, smallTalk, func(done, total int) { a.note("%d of %d collections", done, total) })
	if err != nil {
		return err
	}
	vectors := o.serves != fit.ForKeywords
	options := fit.Options{Vectors: vectors, Absolute: vectors, Scripts: o.scripts, Languages: o.languages, Across: len(o.across) > 0}
	rank, err := sample.CrossValidated(options)
	if err != nil {
		return err
	}
	if err := a.print(sample.Table(rank)); err != nil {
		return err
	}
	model, err := fit.ModelFor(ctx, sample, o.serves, embedder, o.embedders, options)
	if err != nil {
		return err
	}
	text, err := fit.Encode(model)
	if err != nil {
		return err
	}
	return o.writeModel(a, text, fmt.Sprintf("threshold %.3f", model.Threshold))
}

func (o fitFlags) fitTurns(ctx context.Context, a *cli) error {
	sets, err := readTurnSets(o.turns)
	if err != nil {
		return err
	}
	open := func(m *relevance.Turn) (eval.Opener, error) {
		opener, _, err := collectionOpener(a, func(o *core.Options) { o.Turns = m })
		return opener, err
	}
	model, report, err := fit.RunTurns(ctx, open, sets, o.silence, eval.TurnsOptions{
		Folder:   o.work,
		Keep:     o.keep,
		Retrieve: core.RetrieveOptions{Unrecorded: true},
		Progress: noteEach(a),
	})
	if err != nil {
		return err
	}
	if err := a.print(report.Table()); err != nil {
		return err
	}
	text, err := indented(model)
	if err != nil {
		return err
	}
	return o.writeModel(a, text, fmt.Sprintf("least %.3f", model.Least))
}

// writeModel writes a model to --out, or prints it.
func (o fitFlags) writeModel(a *cli, text []byte, figure string) error {
	if o.out == "" {
		return a.print(string(text))
	}
	if err := writeWhole(o.out, text); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	a.note("model: %s, %s", o.out, figure)
	return nil
}

// readTurnSets reads at least two sets with different names.
func readTurnSets(folders []string) ([]eval.TurnSet, error) {
	var all []eval.TurnSet
	for _, folder := range folders {
		sets, err := eval.ReadTurns(folder)
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			if i := slices.IndexFunc(all, func(s eval.TurnSet) bool { return s.Name == set.Name }); i >= 0 {
				return nil, kind.Usagef("--turns has two sets %q, in %s and %s; want each once", set.Name, all[i].Folder, set.Folder)
			}
			all = append(all, set)
		}
	}
	if len(all) < 2 {
		return nil, kind.Usagef("--turns has %d set, want at least two: one to measure the model fitted to the others", len(all))
	}
	return all, nil
}
