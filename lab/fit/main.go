// Command fit fits how evidence becomes a score to labelled data: the weights of evidence, the
// coefficients of the score, its calibration, and the default threshold.
//
//	go -C lab run ./fit -data DIR,DIR -small-talk FILE -out MODEL
//
// Sources (the first folder of a collection's name) count alike, whatever the number of their
// questions. How far kinds of memory may have weights of their own is chosen by leaving each source
// out in turn. It prints the figures of each source by a model that was fitted without it, beside
// those of the model that memcore ships for the embedder. The score is also fitted to small
// memories made of parts of the collections.
//
// -keep FILE keeps what the collections answered, and takes it from there if the file exists: all
// but the indexing can then be varied. The models that memcore ships are in core/relevance/models.
//
// A model for the embedder uses its cosines as they are, one for others uses them on a scale that
// is measured with each embedder, and one for keywords uses none.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"slices"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
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
	flag.StringVar(&o.keep, "keep", "", "`FILE` that keeps the questions with what was found for them, for further fits")
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
	smallTalk, out, keep, serves, pack          string
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
	embedder, err := memories.Embedder(o.pack)
	if err != nil {
		return err
	}
	sample, err := o.sample(ctx, embedder)
	if err != nil {
		return err
	}
	vectors := o.serves != fit.ForKeywords
	how := fit.Options{Vectors: vectors, Absolute: vectors, Scripts: o.scripts, Languages: o.languages, Across: len(o.across) > 0}
	how, table, err := sample.Choose(how)
	if err != nil {
		return err
	}
	left, err := sample.LeftOut(how, fit.Model)
	if err != nil {
		return err
	}
	shipped := relevance.For("")
	if vectors && embedder != nil {
		shipped = relevance.For(embedder.Fingerprint())
	}
	fmt.Print(table,
		sample.Table("shipped", func(string) *relevance.Model { return shipped }, how),
		sample.Table("left out", func(source string) *relevance.Model { return left[source] }, how))
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

// sample asks the collections, or reads what -keep has kept.
func (o options) sample(ctx context.Context, embedder embed.Embedder) (fit.Sample, error) {
	if o.keep != "" {
		if sample, err := fit.Kept(o.keep); !errors.Is(err, fs.ErrNotExist) {
			return sample, err
		}
	}
	smallTalk, err := fit.ReadSmallTalk(o.smallTalk)
	if err != nil {
		return fit.Sample{}, err
	}
	collections, err := sets.CollectionsOf(o.data)
	if err != nil {
		return fit.Sample{}, err
	}
	if collections, err = fit.WithMixed(collections, o.mixed); err != nil {
		return fit.Sample{}, err
	}
	if len(o.across) > 0 {
		across, err := sets.CollectionsOf(o.across)
		if err != nil {
			return fit.Sample{}, err
		}
		collections = append(collections, across...)
	}
	sample, err := fit.Collect(ctx, memories.Opener(embedder), collections, smallTalk, func(done, total int) { log.Printf("%d of %d collections", done, total) })
	if err != nil || o.keep == "" {
		return sample, err
	}
	return sample, sample.Keep(o.keep)
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
