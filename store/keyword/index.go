// Package keyword finds records by the words in them: BM25 over Bleve's index segments.
//
// The segments (zapx, what Bleve's scorch is made of) hold terms, postings and whole records. What
// Bleve keeps around them is left out: its index manager locks a file that only one process can
// hold, merges in the background whenever it likes and retries for ever on a full disk. Here the
// files of an index are a generation (internal/generation) of immutable segments and one manifest:
// a commit writes one new segment, merges small ones as it goes, and swaps the generation. So any
// number of processes read while one writes, nothing runs in the background, and a crash leaves the
// index as it was.
//
// A text is analysed into words, their English stems, pairs of characters where a script has no
// spaces, and the parts of names such as getCacheStats or core/source/source.go; see lexer.
//
// The one rule: all files of an index belong to it; nothing else may write into its folder.
package keyword

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// An Index is a store.KeywordIndex in a folder. It holds memory-mapped files but no lock and no
// goroutine.
type Index struct {
	root    *generation.Dir
	options Options

	mu      sync.Mutex // guards what follows, and the users of snapshots
	closed  bool
	current *snapshot
	batch   map[string]*store.Record // nil to delete

	committing sync.Mutex // held by Commit
}

var _ store.KeywordIndex = (*Index)(nil)

// Open opens the index in dir with the default Options. The folder need not exist: it is made by the
// first Commit. Errors: store.ErrFormat, store.ErrCorrupt, those of the file system.
func Open(ctx context.Context, dir string) (*Index, error) {
	return OpenOptions(ctx, dir, Options{})
}

// OpenOptions is Open with other Options.
func OpenOptions(ctx context.Context, dir string, options Options) (*Index, error) {
	ix := &Index{
		root:    generation.New(dir),
		options: options.withDefaults(),
		batch:   map[string]*store.Record{},
	}
	err := ix.read(ctx, "open", func(*snapshot) error { return nil })
	if err != nil {
		return nil, err
	}
	return ix, nil
}

// Close implements store.Index. Reads that are under way come to their end.
func (ix *Index) Close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil
	}
	ix.closed, ix.batch = true, nil
	ix.leave(ix.current)
	ix.current = nil
	return nil
}

// Put implements store.Index.
func (ix *Index) Put(ctx context.Context, recs []store.Record) error {
	for _, rec := range recs {
		if !validID(rec.ID) {
			return ix.fail("put", fmt.Errorf("record ID is %q, want 1 to 64 hex digits", rec.ID))
		}
	}
	return ix.change(ctx, "put", func() {
		for _, rec := range recs {
			rec.Headings, rec.Vector = slices.Clone(rec.Headings), nil
			ix.batch[rec.ID] = &rec
		}
	})
}

// Delete implements store.Index.
func (ix *Index) Delete(ctx context.Context, ids []string) error {
	return ix.change(ctx, "delete", func() {
		for _, id := range ids {
			ix.batch[id] = nil
		}
	})
}

func validID(id string) bool {
	return len(id) >= 1 && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}

func (ix *Index) change(ctx context.Context, op string, apply func()) error {
	if err := ctx.Err(); err != nil {
		return ix.fail(op, err)
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return ix.fail(op, store.ErrClosed)
	}
	apply()
	return nil
}

// Discard implements store.Index.
func (ix *Index) Discard() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	clear(ix.batch)
}

// takeBatch hands the batch over and begins a new one.
func (ix *Index) takeBatch() (map[string]*store.Record, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil, store.ErrClosed
	}
	batch := ix.batch
	ix.batch = map[string]*store.Record{}
	return batch, nil
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
		ix.leave(s)
	}()
	return ix.fail(op, careful(s, f))
}

func careful(s *snapshot, f func(*snapshot) error) (err error) {
	defer recoverDamage(&err)()
	return f(s)
}

func (ix *Index) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &store.Error{Op: op, Path: ix.root.Root(), Err: err}
}

// enter returns the current snapshot, opened anew if the generation has moved; it stays open until
// leave.
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

// leave ends one use of s. Index itself uses its current snapshot once. The caller holds ix.mu.
func (ix *Index) leave(s *snapshot) {
	s.users--
	if s.users == 0 {
		s.close()
	}
}

// follow makes current the current generation. The caller holds ix.mu.
func (ix *Index) follow() error {
	err := ix.root.View(func(number uint64, folder string) error {
		if ix.current != nil && ix.current.is(number, folder) {
			return nil
		}
		next, err := openSnapshot(ix.current, number, folder)
		if err == nil {
			ix.replace(next)
		}
		return err
	})
	var pathError *fs.PathError
	switch {
	case errors.Is(err, generation.ErrNone) && ix.current.stands():
		return fmt.Errorf("%w: the file that names the current generation is gone", store.ErrCorrupt)
	case errors.Is(err, generation.ErrNone):
		if ix.current == nil || ix.current.identity != nil {
			ix.replace(&snapshot{})
		}
		return nil
	case err == nil, errors.As(err, &pathError):
		return err
	}
	return damaged(err)
}

func (ix *Index) replace(next *snapshot) {
	if ix.current != nil {
		ix.leave(ix.current)
	}
	next.users = 1
	ix.current = next
}

// stands tells whether the folder of s is still there.
func (s *snapshot) stands() bool {
	if s == nil || s.identity == nil {
		return false
	}
	_, err := os.Stat(s.folder)
	return err == nil
}

// is tells whether s is the given generation: its number, in the same folder, which it is not if
// somebody deleted the index and built another, and the same segments, which they are not if somebody wrote into one.
func (s *snapshot) is(number uint64, folder string) bool {
	if s.identity == nil || s.number != number {
		return false
	}
	now, err := os.Stat(folder)
	return err == nil && os.SameFile(now, s.identity) && !slices.ContainsFunc(s.parts, func(p *part) bool { return !p.unchanged(folder) })
}
