package keyword_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/keyword"
)

func Example() {
	dir, err := os.MkdirTemp("", "keywords")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	ix, err := keyword.Open(ctx, dir)
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()

	ix.Put(ctx, []store.Record{
		{ID: "01", Path: "notes/staging.md", Headings: []string{"Staging"}, Text: "Postgres listens on port 5433."},
		{ID: "02", Path: "notes/cache.md", Headings: []string{"Cache"}, Text: "Call getCacheStats() before a release."},
	})
	if err := ix.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	for _, query := range []string{"which port does staging use?", "cache stats"} {
		matches, err := ix.Match(ctx, query, 10, store.Filter{})
		if err != nil {
			log.Fatal(err)
		}
		for _, hit := range matches.Hits {
			fmt.Printf("%s: %s, %.0f %% of the query\n", hit.Record.Path, hit.Record.Text, 100*hit.Score/matches.Ceiling)
		}
	}
	// Output:
	// notes/staging.md: Postgres listens on port 5433., 32 % of the query
	// notes/cache.md: Call getCacheStats() before a release., 51 % of the query
}
