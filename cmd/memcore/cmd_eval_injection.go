package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/eval/injection"
	"github.com/memcore/memcore/internal/app/kind"
)

func evalInjectionCommand(a *cli) *cobra.Command {
	var o injectionFlags
	cmd := &cobra.Command{
		Use:   "injection --data FILE",
		Short: "Fit and measure the detector of injections",
		Long: `Fit the weights of the detector of injections, and report how many attacks it catches and how many
benign texts it flags, by source and language: in a cross-validation, in one that leaves out one source
at a time, and on the texts that are held back. Near duplicates are never on both sides.

FILE has one text a line: {"text", "kind", "source", "lang", "held", "spans", "weight"}. kind is attack,
note, hard (benign, in the words of attacks) or buried (an attack at spans of bytes).`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.data == "" {
				return kind.Usagef("--data is empty, want a file of labelled texts")
			}
			if o.folds < 2 {
				return kind.Usagef("--folds is %d, want at least 2", o.folds)
			}
			return o.run(cmd.Context(), a)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "`FILE` of the labelled texts")
	f.StringVar(&o.out, "out", "", "`FILE` to write the model to (default: only report)")
	f.BoolVar(&o.check, "check", false, "fit nothing, measure the shipped model")
	f.IntVar(&o.folds, "folds", 5, "folds of the cross-validation, `N`")
	f.BoolVar(&o.quick, "quick", false, "leave out the cross-validation by source")
	f.BoolVar(&o.words, "words", false, "fit to words and shape alone, without the embedding model")
	return cmd
}

// injectionFlags are the flags of 'eval injection'.
type injectionFlags struct {
	data, out           string
	folds               int
	words, quick, check bool
}

func (o injectionFlags) run(ctx context.Context, a *cli) error {
	texts, err := injection.Load(o.data)
	if err != nil {
		return fmt.Errorf("read labelled texts: %w", err)
	}
	var embedder injection.Embedder
	if !o.words {
		if embedder, err = windowEmbedder(a); err != nil {
			return err
		}
	}
	if o.check {
		_, err = injection.Check(ctx, texts, a.stdout, embedder)
		return err
	}
	model, err := injection.Run(ctx, texts, a.stdout, injection.Options{Folds: o.folds, Quick: o.quick, Embed: embedder,
		Progress: func(done, of int) { a.note("%d of %d texts", done, of) }})
	if err != nil || o.out == "" {
		return err
	}
	text, err := json.MarshalIndent(model, "", " ")
	if err != nil {
		return err
	}
	if err := writeWhole(o.out, append(text, '\n')); err != nil {
		return fmt.Errorf("write model: %w", err)
	}
	a.note("model: %s", o.out)
	return nil
}

// windowEmbedder returns the built-in model behind its cache.
func windowEmbedder(a *cli) (injection.Embedder, error) {
	at, err := a.Folders()
	if err != nil {
		return nil, err
	}
	model, err := a.Index().Cached(at, minilm.New())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		return model.Embed(ctx, embed.Document, texts)
	}, nil
}
