// Package flat finds nearest neighbours by looking at all vectors: exact, without training, and for
// the size of one person's memory fast enough (see BenchmarkNearest).
//
// An index is a folder of generations (package generation) of five files:
//
//	vectors  rows of float32 in this machine's byte order, scaled to length 1; memory-mapped
//	codes    the same in a quarter of the bytes, to rule out most rows before their vectors are read
//	records  the rest of each record, one after the other; only those of hits are read
//	table    entries of 64 bytes: a row and its record, a row that has died, a document's name
//	meta     how much of the other four counts, and with which checksum
//
// The first four only grow and are shared by the generations, so a commit writes what has changed
// and no more; rows that have died are left out when they become many, by writing all anew. Nothing
// runs in the background.
//
// The one rule: all files of an index belong to it; nothing else may write into its folder.
package flat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// An Index is a store.VectorIndex in a folder. It holds memory-mapped files but no lock and no
// goroutine. An index whose folder is removed goes on answering from what it has open.
type Index struct {
	root      *generation.Dir
	dimension int

	mu      sync.Mutex // guards what follows, and the users of snapshots and what they share
	closed  bool
	current *snapshot
	batch   batch

	committing sync.Mutex // held by Commit
}

var _ store.VectorIndex = (*Index)(nil)

// Open opens the index in dir for vectors of the given dimension, at least 1. The folder need not
// exist: it is made by the first Commit. Errors, wrapped in a *store.Error: store.ErrDimension if the
// index has vectors of another one, store.ErrFormat, store.ErrCorrupt, those of the file system.
func Open(ctx context.Context, dir string, dimension int) (*Index, error) {
	ix := &Index{root: generation.New(dir), dimension: dimension}
	if dimension < 1 {
		return nil, ix.fail("open", fmt.Errorf("dimension is %d, want at least 1", dimension))
	}
	if err := ix.read(ctx, "open", func(*snapshot) error { return nil }); err != nil {
		ix.Close()
		return nil, err
	}
	return ix, nil
}

// Dimension implements store.VectorIndex.
func (ix *Index) Dimension() int { return ix.dimension }

// Close implements store.Index. Reads that are under way come to their end.
func (ix *Index) Close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil
	}
	ix.closed, ix.batch = true, batch{}
	if ix.current == nil {
		return nil
	}
	defer func() { ix.current = nil }()
	return ix.fail("close", ix.current.leave())
}

// read calls f with the snapshot of the last commit by any process, and gives its error the form
// that callers expect.
func (ix *Index) read(ctx context.Context, op string, f func(*snapshot) error) error {
	if err := ctx.Err(); err != nil {
		return ix.fail(op, err)
	}
	s, err := ix.enter()
	if err != nil {
		return ix.fail(op, err)
	}
	defer func() {
		ix.mu.Lock()
		defer ix.mu.Unlock()
		s.leave()
	}()
	return ix.fail(op, careful(func() error { return f(s) }))
}

func (ix *Index) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &store.Error{Op: op, Path: ix.root.Root(), Err: err}
}

// enter returns the current snapshot, opened anew if the generation has moved; it stays open until
// its leave.
func (ix *Index) enter() (*snapshot, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil, store.ErrClosed
	}
	if err := ix.follow(); err != nil {
		return nil, err
	}
	ix.current.users++
	return ix.current, nil
}

// follow makes current the current generation. The caller holds ix.mu.
func (ix *Index) follow() error {
	err := ix.root.View(func(number uint64, folder string) error {
		if !ix.current.is(number, folder) {
			next, err := openSnapshot(ix.current, number, folder, ix.dimension)
			if err != nil {
				return err
			}
			ix.replace(next)
		}
		ix.current.verifier.look(folder, ix.current.Rows)
		return nil
	})
	var pathError *fs.PathError
	switch {
	case errors.Is(err, generation.ErrNone):
		if ix.current == nil {
			ix.replace(emptySnapshot(ix.dimension))
		}
		return nil
	case err == nil, errors.Is(err, store.ErrDimension), errors.As(err, &pathError):
		return err
	}
	return damaged(err)
}

func (ix *Index) replace(next *snapshot) {
	if ix.current != nil {
		ix.current.leave()
	}
	next.users = 1
	ix.current = next
}
