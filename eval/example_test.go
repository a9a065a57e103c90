package eval_test

import (
	"context"
	"fmt"
	"log"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// An offline eval of documents, questions and judgments. eval.ReadBEIR reads them from files.
func Example() {
	collection := eval.Collection{
		Name: "harbour",
		Documents: []eval.Document{
			{ID: "staging", Text: "The staging database listens on port 5433."},
			{ID: "deploy", Text: "We deploy on Fridays from the release branch."},
			{ID: "ferry", Text: "The ferry leaves at eight, rain or shine."},
		},
		Queries:   []eval.Query{{ID: "1", Text: "Which port does the staging database use?"}, {ID: "2", Text: "On which day do we deploy?"}},
		Judgments: map[string]map[string]int{"1": {"staging": 1}, "2": {"deploy": 1}},
	}
	open := func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		return core.Open(ctx, core.Options{
			Folder: folder, Sources: sources, Embedder: minilm.New(), Freshness: -1,
			Engine: store.Engine{
				Name: "flat",
				Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
					return flat.Open(ctx, dir, dimension)
				},
				Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
			},
		})
	}
	report, err := eval.Run(context.Background(), open, collection, eval.Options{K: []int{1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("recall@1 %.1f, MRR %.1f of %d questions\n", report.All.Scores["recall@1"], report.All.Scores["mrr"], report.All.Queries)
	// Output: recall@1 1.0, MRR 1.0 of 2 questions
}
