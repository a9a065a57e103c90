//go:build lancedb

package app

import (
	"context"

	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb"
)

// BuiltEngines are the engines of a build with LanceDB.
var BuiltEngines = []VectorEngine{
	FlatEngine,
	{config.EngineLanceDB, func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
		return lancedb.Open(ctx, dir, dimension, lancedb.Options{})
	}},
}
