package main

import (
	"context"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
)

func init() {
	openers["flat"] = func(ctx context.Context, dir string) (stored, error) {
		index, err := flat.Open(ctx, dir, dimension)
		return stored{index}, err
	}
}

// stored is an engine that is measured.
type stored struct{ store.VectorIndex }

func (s stored) add(ctx context.Context, recs []store.Record) error {
	if err := s.Put(ctx, recs); err != nil {
		return err
	}
	return s.Commit(ctx)
}

func (s stored) finish(ctx context.Context) error {
	if index, ok := s.VectorIndex.(store.Compactor); ok {
		return index.Compact(ctx)
	}
	return nil
}

func (s stored) query(ctx context.Context, vector []float32, f store.Filter) ([]string, error) {
	hits, err := s.Nearest(ctx, vector, k, f)
	ids := make([]string, len(hits))
	for i, hit := range hits {
		ids[i] = hit.Record.ID
	}
	return ids, err
}
