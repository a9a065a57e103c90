//go:build lancedb

package main

import (
	"context"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb"
)

// builtEngines are those of a build with LanceDB's native library.
var builtEngines = []vectorEngine{
	{engineLanceDB, func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
		return lancedb.Open(ctx, dir, dimension, lancedb.Options{})
	}},
	flatEngine,
}
