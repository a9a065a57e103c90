// Package flat finds nearest neighbours by comparing all vectors: exact, without training, and fast
// enough for a person's memory (see BenchmarkNearest).
//
// An index is a folder of generations (package generation) of five files:
//
//	vectors        rows of float32 in this machine's byte order, of length 1; memory-mapped
//	codes          the same in a quarter of the bytes, to rule out most rows
//	records        the rest of each record; only those of hits are read
//	table          entries of 64 bytes: a row and its record, a dead row, a document's name
//	manifest.json  how much of the other four counts
//
// Generations share the first four, which only grow: a commit writes what has changed. When many
// rows are dead, it writes live ones into new files.
//
// Nothing else may write into the folder. Without one, a Part has codes in memory.
package flat

import (
	"context"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// An Index is a store.VectorIndex in a folder. It holds mapped files, no lock and no goroutine. If
// its folder is removed, it answers from them.
type Index struct{ *disk.Index[*snapshot] }

var (
	_ store.VectorIndex  = (*Index)(nil)
	_ store.VectorReader = (*Index)(nil)
)

// Open opens the index in dir, which the first Commit makes. dimension is at least 1. Errors, in a
// *store.Error: store.ErrDimension if the index has another one, ErrFormat, ErrNewer, ErrCorrupt,
// and file errors.
func Open(ctx context.Context, dir string, dimension int) (*Index, error) {
	ix, err := disk.Open(ctx, dir, disk.Engine[*snapshot]{
		Dimension: dimension,
		Open: func(_ context.Context, last *snapshot, number uint64, folder string) (*snapshot, error) {
			return openSnapshot(last, number, folder, dimension)
		},
	})
	if err != nil {
		return nil, err
	}
	return &Index{ix}, nil
}

// Nearest implements store.VectorIndex.
func (ix *Index) Nearest(ctx context.Context, vec []float32, k int, f store.Filter) ([]store.Hit, error) {
	return disk.Search(ctx, ix.Index, "nearest", vec, func(s *snapshot, query []float32) ([]store.Hit, error) {
		return s.nearest(ctx, query, k, f)
	})
}

// Similarities implements store.VectorIndex.
func (ix *Index) Similarities(ctx context.Context, vec []float32, ids []string) (map[string]float64, error) {
	return disk.Search(ctx, ix.Index, "similarities", vec, func(s *snapshot, query []float32) (map[string]float64, error) {
		return s.similarities(ctx, query, ids)
	})
}

// Each implements store.VectorReader.
func (ix *Index) Each(ctx context.Context, do func(store.Record) error) error {
	_, err := disk.Read(ctx, ix.Index, "read all", func(s *snapshot) (struct{}, error) {
		return struct{}{}, s.each(ctx, do)
	})
	return err
}
