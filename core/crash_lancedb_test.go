//go:build lancedb

package core_test

import (
	"context"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb"
)

// An approximate index is made from few rows on, so that processes are killed while it is made too.
func init() {
	crashEngines["lancedb"] = crashEngine{func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
		return lancedb.Open(ctx, dir, dimension, lancedb.Options{ApproximateFrom: 256})
	}, 200}
}
