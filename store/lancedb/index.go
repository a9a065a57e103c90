//go:build lancedb

package lancedb

import (
	"context"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
	"github.com/memcore/memcore/store/lancedb/internal/dataset"
)

// An Index is a store.VectorIndex and store.Compactor in a folder. It holds open tables, no lock. A
// native call outlives its context; Close waits for it.
type Index struct {
	*disk.Index[*snapshot]
	*engine
}

// An engine is shared by an index's snapshots.
type engine struct {
	limits    limits
	abandoned chan struct{}  // has a value while an abandoned commit's folder is removed
	behind    sync.WaitGroup // native calls that tables and folders wait for
}

var (
	_ store.VectorIndex  = (*Index)(nil)
	_ store.VectorReader = (*Index)(nil)
	_ store.Compactor    = (*Index)(nil)
)

// Options of the zero value are right for most.
type Options struct {
	// ApproximateFrom is how many rows, at least 256, get an approximate index from Compact. 0
	// means 20,000; negative means never.
	ApproximateFrom int
}

// Open opens the index in dir, which the first Commit makes. dimension is at least 1. Errors, in a
// *store.Error: store.ErrDimension if the index has another one, ErrFormat, ErrNewer, ErrCorrupt,
// and file errors.
func Open(ctx context.Context, dir string, dimension int, options Options) (*Index, error) {
	e := &engine{limits: defaultLimits, abandoned: make(chan struct{}, 1)}
	switch {
	case options.ApproximateFrom < 0:
		e.limits.indexFrom = math.MaxInt
	case options.ApproximateFrom > 0:
		e.limits.indexFrom = options.ApproximateFrom
	}
	ix, err := disk.Open(ctx, dir, disk.Engine[*snapshot]{
		Dimension: dimension,
		Open: func(_ context.Context, _ *snapshot, number uint64, folder string) (*snapshot, error) {
			return openSnapshot(e, number, folder, dimension)
		},
	})
	if err != nil {
		return nil, err
	}
	return &Index{ix, e}, nil
}

// closeTimeout bounds Close's wait for cancelled native calls. They read, or write into an unused
// folder.
const closeTimeout = time.Second

// Close implements store.Index. It waits for reads and, up to closeTimeout, for native calls.
func (ix *Index) Close() error {
	err := ix.Index.Close()
	ended := make(chan struct{})
	go func() { ix.behind.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(closeTimeout):
	}
	return err
}

// Nearest implements store.VectorIndex. An approximate index can miss hits; see docs/benchmarks.md.
func (ix *Index) Nearest(ctx context.Context, vec []float32, k int, f store.Filter) ([]store.Hit, error) {
	return disk.Search(ctx, ix.Index, "nearest", vec, func(s *snapshot, query []float32) ([]store.Hit, error) {
		return s.nearest(ctx, query, k, f)
	})
}

// Similarities implements store.VectorIndex. It is exact.
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

// Compact implements store.Compactor: it drops dead rows, merges fragments, and, in a large table,
// makes an approximate index. Searches see the result at its end.
func (ix *Index) Compact(ctx context.Context) error {
	due, err := disk.Read(ctx, ix.Index, "compact", func(s *snapshot) (bool, error) {
		return len(ix.limits.large(s.data.Fragments)) > 0 || len(ix.limits.due(s.data)) > 0, nil
	})
	if err != nil || !due {
		return err
	}
	return disk.Write(ctx, ix.Index, "compact", func(s *snapshot, dir *generation.Dir) error {
		return s.rewrite(ctx, dir, func(c *commit) error {
			if err := c.merge(ctx, ix.limits.large(c.data.Fragments)); err != nil {
				return err
			}
			c.compacted()
			return c.index(ctx, ix.limits.due(c.data))
		})
	})
}

// Commit implements disk.Snapshot.
func (s *snapshot) Commit(ctx context.Context, dir *generation.Dir, changes []disk.Change) error {
	return s.rewrite(ctx, dir, func(c *commit) error {
		if err := c.apply(ctx, changes); err != nil {
			return err
		}
		return c.merge(ctx, s.limits.small(c.data.Fragments))
	})
}

// Purge implements disk.Snapshot.
func (s *snapshot) Purge(ctx context.Context, dir *generation.Dir) error {
	rotten := slices.DeleteFunc(slices.Clone(s.data.Fragments), func(f dataset.Fragment) bool { return f.Deleted == 0 })
	if len(rotten) == 0 {
		return nil
	}
	return s.rewrite(ctx, dir, func(c *commit) error { return c.merge(ctx, rotten) })
}

// rewrite publishes what do makes of the next generation.
func (s *snapshot) rewrite(ctx context.Context, dir *generation.Dir, do func(*commit) error) error {
	select {
	case s.abandoned <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := s.begin(ctx, dir)
	if err != nil {
		<-s.abandoned
		return err
	}
	if err = do(c); err == nil {
		err = c.finish(ctx)
	}
	if err == nil {
		<-s.abandoned
		return c.next.Publish()
	}
	c.next.Abandon()
	s.behind.Go(func() { s.clear(c) })
	return err
}

// clear removes an abandoned commit, after its native call, which may write into the folder until
// then.
func (s *snapshot) clear(c *commit) {
	_ = c.table.Close() // its changes are dropped
	_ = os.RemoveAll(c.database())
	<-s.abandoned
}
