package flat_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
)

func Example() {
	dir, err := os.MkdirTemp("", "vectors")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	ix, err := flat.Open(ctx, dir, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()

	err = ix.Put(ctx, []store.Record{
		{ID: "01", Scope: "project", Path: "notes/staging.md", Text: "Postgres listens on port 5433.", Vector: []float32{0.6, 0.8, 0}},
		{ID: "02", Scope: "global", Path: "style.md", Text: "Tabs, not spaces.", Vector: []float32{0, 0, 1}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := ix.Commit(ctx); err != nil { // nothing is found before
		log.Fatal(err)
	}
	hits, err := ix.Nearest(ctx, []float32{1, 0, 0}, 10, store.Filter{Scope: "project"})
	if err != nil {
		log.Fatal(err)
	}
	for _, hit := range hits {
		fmt.Printf("%.2f %s: %s\n", hit.Score, hit.Record.Path, hit.Record.Text)
	}
	// Output:
	// 0.60 notes/staging.md: Postgres listens on port 5433.
}
