// Command relevancebench measures retrieval on the collections of a folder and writes the tables of
// docs/dev/relevance.md: memcore beside other rankings, ablations, the default threshold, latency.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/lab/internal/fit"
	"github.com/memcore/memcore/lab/internal/memories"
	"github.com/memcore/memcore/lab/internal/page"
	"github.com/memcore/memcore/lab/internal/sets"
)

// fitted are the data sets for fitting, as in .ci/fit; tested is for testing only.
var fitted = []string{"locomo", "longmemeval_oracle_pool/turns", "docs_code", "ir", "madial", "precision_membench", "xquad", "cmrc2018_zh", "jsquad_ja"}

const tested = "longmemeval_s"

func main() {
	data := flag.String("data", "", "folder of the data sets")
	smallTalk := flag.String("small-talk", "", "file of lines that must get nothing")
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
	lines, err := fit.ReadSmallTalk(smallTalk)
	if err != nil {
		return err
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	model := minilm.New()
	embedder, err := cache.Open(model, filepath.Join(folder, "memcore", "relevancebench"), cache.Options{Queries: -1}) // queries are measured
	if err != nil {
		return err
	}
	open := memories.Opener(embedder)
	var folders []string
	for _, set := range fitted {
		folders = append(folders, filepath.Join(data, set))
	}
	collections, err := sets.CollectionsOf(folders)
	if err != nil {
		return err
	}
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
	fmt.Print(t.String())
	return write(out, t.String(), report)
}

func write(folder, tables string, report eval.Report) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "relevance.md"), []byte(tables), 0o644); err != nil {
		return err
	}
	html, err := os.Create(filepath.Join(folder, "report.html"))
	if err != nil {
		return err
	}
	defer html.Close()
	return page.Write(html, "All data sets, as shipped", report)
}

func progress(done, total int) {
	fmt.Fprintf(os.Stderr, "relevancebench: %d of %d collections\n", done, total)
}
