// Package disk is what all indexes on disk share.
//
// An index is a folder of generations (package generation); an open one is a Snapshot. An Index
// follows all processes' commits, collects the batch, and wraps errors. An Engine opens, writes and
// searches a generation.
package disk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// A Snapshot is an index as of one commit.
type Snapshot interface {
	generation.Snapshot
	Document(ctx context.Context, path string) ([]store.Record, error) // in any order
	Count() int
	Stats() (store.Stats, error)
	Check(ctx context.Context) error
	// Commit publishes the next generation, unless it is empty.
	Commit(ctx context.Context, dir *generation.Dir, changes []Change) error
	// Purge publishes a generation whose files hold live records only, unless this is one.
	Purge(ctx context.Context, dir *generation.Dir) error
}

// An Engine is what one kind of index adds.
type Engine[S Snapshot] struct {
	Dimension int // of vectors, at least 1
	NoVectors bool
	Panics    bool // its reader panics on damaged files
	// Open is as for generation.Follow. Number 0 without last is an empty index.
	Open func(ctx context.Context, last S, number uint64, folder string) (S, error)
}

// An Index implements store.Index.
type Index[S Snapshot] struct {
	dir      *generation.Dir
	engine   Engine[S]
	follower *generation.Follower[S]

	mu     sync.Mutex // guards what follows
	closed bool
	batch  batch

	committing sync.Mutex
}

// Open opens the index in dir, which the first Commit makes.
func Open[S Snapshot](ctx context.Context, dir string, engine Engine[S]) (*Index[S], error) {
	ix := &Index[S]{dir: generation.New(dir), engine: engine}
	if engine.Dimension < 1 && !engine.NoVectors {
		return nil, ix.fail("open", fmt.Errorf("dimension is %d, want at least 1", engine.Dimension))
	}
	ix.follower = generation.Follow(ix.dir, store.ManifestFile,
		func(ctx context.Context, last S, number uint64, folder string) (S, error) {
			var none S
			if number == 0 && last != none {
				return last, nil // its files are gone, but open
			}
			return engine.Open(ctx, last, number, folder)
		})
	if err := ix.read(ctx, "open", func(S) error { return nil }); err != nil {
		return nil, err
	}
	return ix, nil
}

// Read calls f with the snapshot of any process's last commit.
func Read[S Snapshot, T any](ctx context.Context, ix *Index[S], op string, f func(S) (T, error)) (T, error) {
	var found, nothing T
	err := ix.read(ctx, op, func(s S) (err error) {
		found, err = f(s)
		return err
	})
	if err != nil {
		return nothing, err
	}
	return found, nil
}

// Search is Read with vector scaled to length 1.
func Search[S Snapshot, T any](ctx context.Context, ix *Index[S], op string, vector []float32, f func(s S, query []float32) (T, error)) (T, error) {
	query, _, err := unit(vector, ix.engine.Dimension)
	if err != nil {
		var nothing T
		return nothing, ix.fail(op, err)
	}
	return Read(ctx, ix, op, func(s S) (T, error) { return f(s, query) })
}

// Write calls f, which may publish the snapshot's successor.
func Write[S Snapshot](ctx context.Context, ix *Index[S], op string, f func(S, *generation.Dir) error) error {
	ix.committing.Lock()
	defer ix.committing.Unlock()
	if err := ctx.Err(); err != nil {
		return ix.fail(op, err)
	}
	s, leave, err := ix.follower.Enter(ctx)
	if err != nil {
		return ix.fail(op, err)
	}
	defer leave()
	return ix.fail(op, Careful(ix.engine.Panics, func() error { return f(s, ix.dir) }))
}

func (ix *Index[S]) read(ctx context.Context, op string, f func(S) error) error {
	if err := ctx.Err(); err != nil {
		return ix.fail(op, err)
	}
	return ix.fail(op, Careful(ix.engine.Panics, func() error { return ix.follower.Read(ctx, f) }))
}

func (ix *Index[S]) fail(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, generation.ErrClosed):
		err = store.ErrClosed
	case errors.Is(err, generation.ErrDamaged):
		err = Damaged(err)
	}
	return &store.Error{Op: op, Path: ix.dir.Root(), Err: err}
}

// Folder is the folder of the index.
func (ix *Index[S]) Folder() string { return ix.dir.Root() }

// Dimension implements store.VectorIndex.
func (ix *Index[S]) Dimension() int { return ix.engine.Dimension }

// Document implements store.Index.
func (ix *Index[S]) Document(ctx context.Context, path string) ([]store.Record, error) {
	return Read(ctx, ix, "document", func(s S) ([]store.Record, error) {
		records, err := s.Document(ctx, path)
		slices.SortFunc(records, func(a, b store.Record) int {
			return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.ID, b.ID))
		})
		return records, err
	})
}

// Count implements store.Index.
func (ix *Index[S]) Count(ctx context.Context) (int, error) {
	return Read(ctx, ix, "count", func(s S) (int, error) { return s.Count(), nil })
}

// Stats implements store.Index.
func (ix *Index[S]) Stats(ctx context.Context) (store.Stats, error) {
	return Read(ctx, ix, "stats", func(s S) (store.Stats, error) { return s.Stats() })
}

// Check implements store.Index.
func (ix *Index[S]) Check(ctx context.Context) error {
	return ix.read(ctx, "check", func(s S) error { return s.Check(ctx) })
}

// Close implements store.Index. Running reads keep their snapshot.
func (ix *Index[S]) Close() error {
	ix.mu.Lock()
	ix.closed, ix.batch = true, batch{}
	ix.mu.Unlock()
	return ix.fail("close", ix.follower.Close())
}
