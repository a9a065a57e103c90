package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/eval/fit"
)

// What a model is fitted for.
const (
	forEmbedder = "embedder"
	forOthers   = "others"
	forKeywords = "keywords"
)

func evalFitCommand(a *app) *cobra.Command {
	var data, scripts, languages, embedders []string
	var smallTalk, out, serves string
	var mixed []int
	var turns turnsFit
	cmd := &cobra.Command{
		Use:   "fit {--data DIR --small-talk FILE | --turns DIR}",
		Short: "Fit how evidence becomes a score to labelled data",
		Long: `Fit a relevance model: the weights of evidence, the coefficients of the score, its calibration, and the default
threshold, at which 4.5 % of answerable questions get nothing. Before that, cross-validated
figures are printed. The score is fitted to small memories of parts of the collections, too. A data set (the first folder of a collection's name) counts
by the root of the number of its questions.

--for embedder uses the cosines of the configured embedder as they are; others, on a scale that is
measured with each embedder; keywords, none. Point memory.relevance at FILE to use it.

--turns fits another model instead: what the prompts of agents at work want (core/relevance/turn.json). DIR has
sets as 'eval turns' reads them, at least two. Before, each set is measured with a model that was fitted to the others.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case len(turns.data) > 0 && (len(data) > 0 || smallTalk != ""):
				return usagef("--turns fits another model than --data and --small-talk, want one of them")
			case len(turns.data) > 0 && !(turns.silence > 0 && turns.silence < 1):
				return usagef("--silence is %g, want it between 0 and 1", turns.silence)
			case len(turns.data) > 0:
				turns.out = out
				return a.fitTurns(cmd.Context(), turns)
			case turns.work != "":
				return usagef("--work is for --turns only")
			case len(data) == 0:
				return usagef("--data is empty, want folders of collections")
			case smallTalk == "":
				return usagef("--small-talk is empty, want a file of lines that have to get nothing: the threshold depends on it")
			case !slices.Contains([]string{forEmbedder, forOthers, forKeywords}, serves):
				return usagef("--for is %q, want %s, %s or %s", serves, forEmbedder, forOthers, forKeywords)
			}
			o := fit.Options{Vectors: serves != forKeywords, Absolute: serves != forKeywords, Scripts: scripts, Languages: languages}
			return a.fit(cmd.Context(), data, mixed, smallTalk, out, embedders, serves, o)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&data, "data", nil, "`DIR`s of the collections, or globs of such folders, separated by commas")
	f.IntSliceVar(&mixed, "mixed", []int{5, 10, 20, 50, 100, 200, 500}, "`CHUNKS` of small memories of parts of the collections that the score is fitted to as well; empty for none")
	f.StringVar(&smallTalk, "small-talk", "", "`FILE` of lines that memory has nothing to say to")
	f.StringVar(&out, "out", "", "`FILE` to write the model to (default: print it)")
	f.StringVar(&serves, "for", forEmbedder, "`WHICH` questions the model serves: embedder, others or keywords")
	f.StringSliceVar(&turns.data, "turns", nil, "`DIR`s of sets of prompts, separated by commas, to fit the model of turns to")
	f.Float64Var(&turns.silence, "silence", 0.7, "share `X` of the prompts that want nothing that get nothing, for --turns")
	f.StringVar(&turns.work, "work", "", "`DIR` that keeps the indexes of --turns for the next run of the same program (default: a temporary one)")
	f.StringSliceVar(&scripts, "scripts", nil, "`SCRIPTS` that the embedder knows, by their names in Unicode, such as Latin (default: all)")
	f.StringSliceVar(&languages, "languages", nil, "`LANGUAGES` that the embedder knows, such as en (default: all)")
	f.StringSliceVar(&embedders, "embedders", nil, "`FINGERPRINTS`, or their beginnings, of the embedders the model is for (default: the configured one)")
	a.engineFlag(f)
	return cmd
}

// Small memories that models are fitted to: not those that 'eval mixed' makes by default.
const (
	mixedEach = 14
	mixedSeed = 7
)

// pairs are points of a calibration, which belong on one line.
var pairs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\[\s+([0-9.]+),\s+([0-9.]+)\s+\]`)
})

func (a *app) fit(ctx context.Context, data []string, mixed []int, smallTalk, out string, embedders []string, serves string, o fit.Options) error {
	text, err := os.ReadFile(smallTalk)
	if err != nil {
		return fmt.Errorf("fit: %w", err)
	}
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
	var collections []eval.Collection
	for _, pattern := range data {
		some, err := eval.Collections(pattern, "")
		if err != nil {
			return err
		}
		collections = append(collections, some...)
	}
	if len(mixed) > 0 && len(collections) > 1 {
		small, err := eval.Mixed(collections, eval.MixedOptions{Sizes: mixed, Each: mixedEach, Seed: mixedSeed})
		if err != nil {
			return err
		}
		collections = append(collections, small...)
	}
	open, embedder, err := a.collectionOpener()
	if err != nil {
		return err
	}
	sample, err := fit.Collect(ctx, open, collections, lines, func(done, total int) { a.note("%d of %d collections", done, total) })
	if err != nil {
		return err
	}
	rank, err := sample.CrossValidated(o)
	if err != nil {
		return err
	}
	if err := a.crossValidated(sample, rank); err != nil {
		return err
	}
	model, err := fit.Model(sample, o)
	if err != nil {
		return err
	}
	switch {
	case serves == forOthers && embedder != nil:
		model.Scripts, model.Languages = nil, nil // that they were left out here says nothing about other embedders
		if model.Cosines, err = core.MeasureScale(ctx, embedder); err != nil {
			return err
		}
	case serves == forKeywords: // no embedder's: for all where there are no vectors
	case len(embedders) > 0:
		model.Embedders = embedders
	case embedder != nil:
		model.Embedders = []string{embedder.Fingerprint()}
	}
	text, err = json.MarshalIndent(model, "", "  ")
	if err != nil {
		return err
	}
	text = append(pairs().ReplaceAll(text, []byte("[$1, $2]")), '\n')
	if out == "" {
		return a.print(string(text))
	}
	if err := writeWhole(out, text); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	a.note("model: %s, threshold %.3f", out, model.Threshold)
	return nil
}

func (a *app) crossValidated(sample fit.Sample, rank fit.Ranker) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "cross-validated\tquestions\tR@1\tR@5\tR@10\tMRR\tnDCG@10\tsession R@5\t\n")
	sessions := sample.Scores(rank, eval.LevelSession)
	for i, c := range sample.Scores(rank, eval.LevelDocument).Collections {
		s := c.Scores
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t\n", c.Name, c.Queries, s["recall@1"], s["recall@5"], s["recall@10"],
			s["mrr"], s["ndcg@10"], sessions.Collections[i].Scores["recall@5"])
	}
	w.Flush()
	return a.print(b.String())
}

// measuredTimeout is how long a measured query waits for its embedding: figures must not depend on
// how busy the machine is.
const measuredTimeout = 5 * time.Minute

// collectionOpener opens memories of collections with the configured engine and embedder, and with
// what adjust makes of the options.
func (a *app) collectionOpener(adjust ...func(*core.Options)) (eval.Opener, embed.Embedder, error) {
	engine, err := chooseEngine(a.settings.Engine, a.config.origin["engine"], "", engineNames()).writable()
	if err != nil {
		return nil, nil, err
	}
	at, err := a.place()
	if err != nil {
		return nil, nil, err
	}
	embedder, err := a.embedder(at)
	if err != nil {
		return nil, nil, err
	}
	model, err := a.relevanceModel()
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		options := core.Options{
			Folder: folder, Sources: sources, Engine: engine, Embedder: embedder, Relevance: model, Freshness: -1,
			EmbedTimeout: measuredTimeout, Logger: a.log}
		if err := a.reranking(&options); err != nil {
			return nil, err
		}
		for _, f := range adjust {
			f(&options)
		}
		return core.Open(ctx, options)
	}, embedder, nil
}
