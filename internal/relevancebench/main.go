// Command relevancebench measures retrieval on all collections of a folder and writes the tables of docs/relevance.md:
// memcore beside other ways to rank, cross-validated; what each piece of evidence is worth; what the default threshold
// does; how fast it is.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/eval/fit"
	"github.com/memcore/memcore/eval/page"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// fitted are the data sets that models are fitted to, as .ci/fit has them; tested is for testing only.
var fitted = []string{"locomo", "longmemeval_oracle_pool/turns", "docs_code", "ir", "madial", "precision_membench", "xquad", "cmrc2018_zh", "jsquad_ja"}

const tested = "longmemeval_s"

func main() {
	data := flag.String("data", "", "folder of the data sets")
	smallTalk := flag.String("small-talk", "", "file of lines that memory has nothing to say to")
	out := flag.String("out", "", "folder for relevance.md (the tables) and report.html")
	flag.Parse()
	if *data == "" || *smallTalk == "" || *out == "" {
		log.Fatal("relevancebench: -data, -small-talk and -out are all needed")
	}
	if err := run(context.Background(), *data, *smallTalk, *out); err != nil {
		log.Fatal("relevancebench: ", err)
	}
}

func run(ctx context.Context, data, smallTalk, out string) error {
	text, err := os.ReadFile(smallTalk)
	if err != nil {
		return err
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	model := minilm.New()
	embedder, err := cache.Open(model, filepath.Join(folder, "memcore", "relevancebench"), cache.Options{Queries: -1}) // what queries take is measured
	if err != nil {
		return err
	}
	open := func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		return core.Open(ctx, core.Options{Folder: folder, Sources: sources, Embedder: embedder, Freshness: -1, Engine: store.Engine{
			Name: "flat",
			Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
				return flat.Open(ctx, dir, dimension)
			},
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		}})
	}
	var collections []eval.Collection
	for _, set := range fitted {
		some, err := eval.Collections(filepath.Join(data, set), "")
		if err != nil {
			return err
		}
		collections = append(collections, some...)
	}
	lines := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' })
	sample, err := fit.Collect(ctx, open, collections, lines, progress)
	if err != nil {
		return err
	}
	t := &tables{}
	vectors := fit.Options{Vectors: true, Absolute: true, Scripts: []string{"Latin"}, Languages: []string{"en"}}
	if err := t.sideBySide(ctx, sample, collections, embedder, vectors); err != nil {
		return err
	}
	if err := t.ablations(sample, vectors); err != nil {
		return err
	}
	t.silence(sample, relevance.For(embedder.Fingerprint()))
	if err := t.mustNot(ctx, open, data, relevance.For(embedder.Fingerprint())); err != nil {
		return err
	}
	report, err := t.product(ctx, open, data)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "relevance.md"), []byte(t.String()), 0o644); err != nil {
		return err
	}
	html, err := os.Create(filepath.Join(out, "report.html"))
	if err != nil {
		return err
	}
	defer html.Close()
	if err := page.Write(html, "All data sets, as shipped", report); err != nil {
		return err
	}
	fmt.Print(t.String())
	return nil
}

func progress(done, total int) {
	fmt.Fprintf(os.Stderr, "relevancebench: %d of %d collections\n", done, total)
}
