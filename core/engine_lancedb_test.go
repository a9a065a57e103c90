//go:build lancedb

package core_test

import (
	"context"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb"
)

// The approximate index begins at few rows, to be killed as well.
func init() {
	testEngines["lancedb"] = testEngine{func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
		return lancedb.Open(ctx, dir, dimension, lancedb.Options{ApproximateFrom: 256})
	}, 200, "lancedb", "*/*.lance/data/*.lance", func(text []byte) []byte {
		return text[:len(text)/2] // of changed lengths LanceDB would believe any, and allocate as much
	}}
}
