// Command fit fits how evidence becomes a score to labelled data: the weights of evidence, the
// coefficients of the score, its calibration, and the default threshold.
//
//	go -C lab run ./fit -data DIR,DIR -small-talk FILE -out MODEL
//
// It prints cross-validated figures first. The score is also fitted to small memories made of parts
// of the collections. A data set (the first folder of a collection's name) counts by the root of
// the number of its questions. The models that memcore ships are in core/relevance/models.
//
// A model for the embedder uses its cosines as they are, one for others uses them on a scale that
// is measured with each embedder, and one for keywords uses none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/memcore/memcore/lab/internal/fit"
	"github.com/memcore/memcore/lab/internal/memories"
	"github.com/memcore/memcore/lab/internal/sets"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("fit: ")
	o := options{mixed: memories.Numbers{5, 10, 20, 50, 100, 200, 500}}
	flag.Var(&o.data, "data", "`DIR`s of the collections, or globs of such folders, separated by commas")
	flag.Var(&o.across, "across", "`DIR`s of collections with questions in another language than their texts, to fit a model for such questions as well")
	flag.Var(&o.mixed, "mixed", "`CHUNKS` of the small memories")
	flag.StringVar(&o.smallTalk, "small-talk", "", "`FILE` of lines that must get nothing")
	flag.StringVar(&o.out, "out", "", "`FILE` to write the model to (default: print it)")
	flag.StringVar(&o.serves, "for", fit.ForEmbedder, "`WHICH` questions the model serves: embedder, others or keywords")
	flag.StringVar(&o.pack, "pack", "", "`FILE` of a model pack to embed with (default: the built-in model)")
	flag.Var(&o.scripts, "scripts", "`SCRIPTS` that the embedder knows, by their names in Unicode, such as Latin (default: all)")
	flag.Var(&o.languages, "languages", "`LANGUAGES` that the embedder knows, such as en (default: all)")
	flag.Var(&o.embedders, "embedders", "`FINGERPRINTS`, or their beginnings, of the embedders the model is for (default: the one it was fitted with)")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

type options struct {
	data, across, scripts, languages, embedders memories.Names
	smallTalk, out, serves, pack                string
	mixed                                       memories.Numbers
}

func (o options) check() error {
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("got the arguments %q, want flags only", flag.Args())
	case len(o.data) == 0:
		return errors.New("-data is empty, want folders of collections")
	case o.smallTalk == "":
		return errors.New("-small-talk is empty, want a file of lines that must get nothing: the threshold depends on it")
	case !slices.Contains(fit.For, o.serves):
		return fmt.Errorf("-for is %q, want embedder, others or keywords", o.serves)
	}
	return nil
}

func (o options) run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	return o.fitRelevance(ctx)
}

func (o options) fitRelevance(ctx context.Context) error {
	smallTalk, err := fit.ReadSmallTalk(o.smallTalk)
	if err != nil {
		return err
	}
	collections, err := sets.CollectionsOf(o.data)
	if err != nil {
		return err
	}
	if collections, err = fit.WithMixed(collections, o.mixed); err != nil {
		return err
	}
	if len(o.across) > 0 {
		across, err := sets.CollectionsOf(o.across)
		if err != nil {
			return err
		}
		collections = append(collections, across...)
	}
	embedder, err := memories.Embedder(o.pack)
	if err != nil {
		return err
	}
	sample, err := fit.Collect(ctx, memories.Opener(embedder), collections, smallTalk, func(done, total int) { log.Printf("%d of %d collections", done, total) })
	if err != nil {
		return err
	}
	vectors := o.serves != fit.ForKeywords
	how := fit.Options{Vectors: vectors, Absolute: vectors, Scripts: o.scripts, Languages: o.languages, Across: len(o.across) > 0}
	rank, err := sample.CrossValidated(how)
	if err != nil {
		return err
	}
	fmt.Print(sample.Table(rank))
	model, err := fit.ModelFor(ctx, sample, o.serves, embedder, o.embedders, how)
	if err != nil {
		return err
	}
	text, err := fit.Encode(model)
	if err != nil {
		return err
	}
	return o.write(text, fmt.Sprintf("threshold %.3f", model.Threshold))
}

// write writes a model to -out, or prints it.
func (o options) write(text []byte, figure string) error {
	if o.out == "" {
		_, err := os.Stdout.Write(text)
		return err
	}
	if err := os.WriteFile(o.out, text, 0o644); err != nil {
		return fmt.Errorf("writing the model: %w", err)
	}
	log.Printf("model: %s, %s", o.out, figure)
	return nil
}
