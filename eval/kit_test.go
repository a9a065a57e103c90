package eval

import (
	"context"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed/embedtest"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

func openWordy(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
	return core.Open(ctx, wordyOptions(sources, folder))
}

func wordyOptions(sources []source.Source, folder string) core.Options {
	return core.Options{
		Folder: folder, Sources: sources, Embedder: embedtest.BagOfWords{Dim: 64}, Freshness: -1,
		Engine: store.Engine{
			Name: "flat",
			Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
				return flat.Open(ctx, dir, dimension)
			},
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		},
	}
}
