package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/eval/injection"
)

func evalInjectionCommand(a *app) *cobra.Command {
	var data, out string
	var folds int
	var words, quick, check bool
	cmd := &cobra.Command{
		Use:   "injection --data DIR",
		Short: "Fit and measure how instructions in memory are told from notes",
		Long: `Fit the weights by which text that gives orders to a model is told from notes, and say what they are worth: attacks that are caught and benign texts
that are flagged, by source and language, of a cross-validation in folds, of one that leaves out one source at a time, and of the
half of the notes that is held back. Near duplicates are never on both sides. DIR has injection/texts.jsonl
({"text", "label", "source", "lang"}, label 1 is an attack) and injection/embedded.jsonl, and folders of notes.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				return usagef("--data is empty, want a folder of labelled texts")
			}
			if folds < 2 {
				return usagef("--folds is %d, want at least 2", folds)
			}
			if check {
				return a.checkInjection(cmd.Context(), data, words)
			}
			return a.fitInjection(cmd.Context(), data, out, folds, words, quick)
		},
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", "", "`DIR` of the labelled texts")
	f.StringVar(&out, "out", "", "`FILE` to write the model to (default: only report)")
	f.BoolVar(&check, "check", false, "fit nothing: measure the model that memcore ships, on texts that it was not fitted to")
	f.IntVar(&folds, "folds", 5, "folds of the cross-validation, `N`")
	f.BoolVar(&quick, "quick", false, "leave out the cross-validation by source")
	f.BoolVar(&words, "words", false, "fit to words and shape alone, without the embedding model")
	return cmd
}

func (a *app) fitInjection(ctx context.Context, data, out string, folds int, words, quick bool) error {
	texts, err := injection.Load(data)
	if err != nil {
		return fmt.Errorf("read labelled texts: %w", err)
	}
	o := injection.Options{Folds: folds, Quick: quick, Progress: func(done, of int) { a.note("%d of %d texts", done, of) }}
	if o.Embed, err = a.windowEmbedder(words); err != nil {
		return err
	}
	model, err := injection.Run(ctx, texts, a.stdout, o)
	if err != nil || out == "" {
		return err
	}
	text, err := json.MarshalIndent(model, "", " ")
	if err != nil {
		return err
	}
	if err := writeWhole(out, append(text, '\n')); err != nil {
		return fmt.Errorf("write model: %w", err)
	}
	a.note("model: %s", out)
	return nil
}

func (a *app) checkInjection(ctx context.Context, data string, words bool) error {
	texts, err := injection.Load(data)
	if err != nil {
		return fmt.Errorf("read labelled texts: %w", err)
	}
	embedder, err := a.windowEmbedder(words)
	if err != nil {
		return err
	}
	_, err = injection.Check(ctx, texts, a.stdout, embedder)
	return err
}

// windowEmbedder is the built-in model, whose vectors are kept for the next time; nil if words alone are asked for.
func (a *app) windowEmbedder(words bool) (injection.Embedder, error) {
	if words {
		return nil, nil
	}
	at, err := a.place()
	if err != nil {
		return nil, err
	}
	model, err := a.cached(at, minilm.New())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, texts []string) ([][]float32, error) {
		return model.Embed(ctx, embed.Document, texts)
	}, nil
}
