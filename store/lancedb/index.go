//go:build lancedb

package lancedb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"sync"
	"time"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// An Index is a store.VectorIndex in a folder, and a store.Compactor. It holds open tables but no lock.
// A native call that outlasts its context goes on behind; Close waits for it.
type Index struct {
	root      *generation.Dir
	dimension int
	limits    limits

	mu      sync.Mutex // guards what follows, and the users of snapshots
	closed  bool
	current *snapshot
	batch   batch

	committing chan struct{}  // holds one value while a Commit or Compact is at work
	behind     sync.WaitGroup // tables and folders that wait for a native call
}

var (
	_ store.VectorIndex = (*Index)(nil)
	_ store.Compactor   = (*Index)(nil)
)

// Options say how an index is kept. The zero value is right for most.
type Options struct {
	// ApproximateFrom is the number of rows from which on Compact makes an approximate index; 0 means
	// 20,000, negative means never: every search is exact. The smallest that Lance can index is 256.
	ApproximateFrom int
}

// Open opens the index in dir for vectors of the given dimension, at least 1. The folder need not
// exist: it is made by the first Commit. Errors, wrapped in a *store.Error: store.ErrDimension if the
// index has vectors of another one, store.ErrFormat, store.ErrCorrupt, those of the file system.
func Open(ctx context.Context, dir string, dimension int, options Options) (*Index, error) {
	ix := &Index{root: generation.New(dir), dimension: dimension, limits: defaultLimits, committing: make(chan struct{}, 1)}
	switch {
	case options.ApproximateFrom < 0:
		ix.limits.indexFrom = math.MaxInt
	case options.ApproximateFrom > 0:
		ix.limits.indexFrom = options.ApproximateFrom
	}
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

// closePatience is how long Close waits for native calls that outlast their contexts. What they still
// do is where nobody looks, or reading.
const closePatience = time.Second

// Close implements store.Index. It waits for reads and native calls that are under way, but not for ever.
func (ix *Index) Close() error {
	ix.mu.Lock()
	if !ix.closed {
		ix.closed, ix.batch = true, batch{}
		ix.replace(nil)
	}
	ix.mu.Unlock()
	ended := make(chan struct{})
	go func() { ix.behind.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(closePatience):
	}
	return nil
}

// rereads is how often a read begins again because a writer was faster.
const rereads = 50

// read calls f with the snapshot of the last commit by any process, and gives its error the form
// that callers expect. Lance opens files when it needs them, and a generation is removed when two have
// followed it: if f fails and the generation has moved, f is called again with the new one.
func (ix *Index) read(ctx context.Context, op string, f func(*snapshot) error) error {
	for again := 0; ; again++ {
		moved, err := ix.readOnce(ctx, f)
		if err == nil || !moved || again == rereads || ctx.Err() != nil {
			return ix.fail(op, err)
		}
	}
}

// readOnce also tells whether the generation that was read is no longer the current one.
func (ix *Index) readOnce(ctx context.Context, f func(*snapshot) error) (moved bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s, err := ix.enter()
	if err != nil {
		return false, err
	}
	defer func() {
		ix.mu.Lock()
		defer ix.mu.Unlock()
		ix.leave(s)
	}()
	if err = f(s); err != nil {
		now, _, currentErr := ix.root.Current()
		moved = currentErr == nil && now != s.number
	}
	return moved, err
}

func (ix *Index) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &store.Error{Op: op, Path: ix.root.Root(), Err: err}
}

// enter returns the snapshot of the current generation; it stays open until its leave.
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
		if ix.current.is(number, folder) {
			return nil
		}
		next, err := openSnapshot(number, folder, ix.dimension)
		if err == nil {
			ix.replace(next)
		}
		return err
	})
	var pathError *fs.PathError
	switch {
	case errors.Is(err, generation.ErrNone):
		if ix.current == nil || ix.current.number != 0 {
			ix.replace(emptySnapshot(ix.dimension))
		}
		return nil
	case err == nil, errors.Is(err, store.ErrDimension), errors.Is(err, store.ErrFormat), errors.Is(err, store.ErrNewer):
		return err
	case errors.As(err, &pathError) && !errors.Is(err, fs.ErrNotExist), errors.Is(err, store.ErrCorrupt):
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
}

func (ix *Index) replace(next *snapshot) {
	if ix.current != nil {
		ix.leave(ix.current)
	}
	if next != nil {
		next.users = 1
	}
	ix.current = next
}

// leave ends one use of s; the last one closes it, behind the back of callers, who should not wait for
// a search that was cancelled. The caller holds ix.mu.
func (ix *Index) leave(s *snapshot) {
	if s.users--; s.users == 0 {
		ix.behind.Go(s.close)
	}
}
