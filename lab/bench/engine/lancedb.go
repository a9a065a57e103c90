//go:build lancedb

package main

import (
	"context"

	"github.com/memcore/memcore/store/lancedb"
)

func init() {
	for name, from := range map[string]int{"lancedb": -1, "lancedb-ann": 1000} {
		openers[name] = func(ctx context.Context, dir string) (stored, error) {
			index, err := lancedb.Open(ctx, dir, dimension, lancedb.Options{ApproximateFrom: from})
			return stored{index}, err
		}
	}
}
