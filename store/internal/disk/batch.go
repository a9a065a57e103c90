package disk

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// A Change puts Record; nil deletes.
type Change struct {
	ID     string
	Record *store.Record
}

// A batch holds each ID's last change, ordered by the first.
type batch struct {
	changes []Change
	at      map[string]int
}

func (b *batch) add(c Change) {
	if i, known := b.at[c.ID]; known {
		b.changes[i] = c
		return
	}
	if b.at == nil {
		b.at = map[string]int{}
	}
	b.at[c.ID] = len(b.changes)
	b.changes = append(b.changes, c)
}

// Put implements store.Index. It puts all records or none, scaled to length 1.
func (ix *Index[S]) Put(ctx context.Context, records []store.Record) error {
	changes := make([]Change, len(records))
	for i, record := range records {
		if err := ix.keep(&record); err != nil {
			return ix.fail("put", err)
		}
		changes[i] = Change{record.ID, &record}
	}
	return ix.change(ctx, "put", changes)
}

// tolerance of a vector's length, which is 1.
const tolerance = 1e-3

// keep checks a record and copies the caller's memory.
func (ix *Index[S]) keep(r *store.Record) error {
	if !ValidID(r.ID) {
		return fmt.Errorf("record ID is %q, want 1 to 64 hex digits", r.ID)
	}
	r.Headings, r.Aliases = slices.Clone(r.Headings), slices.Clone(r.Aliases)
	r.Time = r.Time.Truncate(time.Second).UTC()
	if ix.engine.NoVectors {
		r.Vector = nil
		return nil
	}
	vector, length, err := unit(r.Vector, ix.engine.Dimension)
	if err == nil && math.Abs(length-1) > tolerance {
		err = fmt.Errorf("vector has length %v, want 1", length)
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", r.ID, err)
	}
	r.Vector = vector
	return nil
}

// ValidID reports whether id has the form of an ID.
func ValidID(id string) bool {
	return len(id) >= 1 && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}

// unit returns a copy scaled to length 1, and its length before.
func unit(vector []float32, dimension int) (scaled []float32, length float64, err error) {
	if len(vector) != dimension {
		return nil, 0, fmt.Errorf("%w: %d numbers, want %d", store.ErrDimension, len(vector), dimension)
	}
	for _, x := range vector {
		length += float64(x) * float64(x)
	}
	length = math.Sqrt(length)
	if !(length > 0) || math.IsInf(length, 0) {
		return nil, length, fmt.Errorf("vector has length %v", length)
	}
	scaled = make([]float32, len(vector))
	for i, x := range vector {
		scaled[i] = float32(float64(x) / length)
	}
	return scaled, length, nil
}

// Delete implements store.Index.
func (ix *Index[S]) Delete(ctx context.Context, ids []string) error {
	var changes []Change
	for _, id := range ids {
		if ValidID(id) {
			changes = append(changes, Change{ID: id})
		}
	}
	return ix.change(ctx, "delete", changes)
}

func (ix *Index[S]) change(ctx context.Context, op string, changes []Change) error {
	if err := ctx.Err(); err != nil {
		return ix.fail(op, err)
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return ix.fail(op, store.ErrClosed)
	}
	for _, c := range changes {
		ix.batch.add(c)
	}
	return nil
}

// Discard implements store.Index.
func (ix *Index[S]) Discard() { _, _ = ix.take() }

// take returns the changes and begins a new batch.
func (ix *Index[S]) take() ([]Change, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return nil, store.ErrClosed
	}
	taken := ix.batch.changes
	ix.batch = batch{}
	return taken, nil
}

// Commit implements store.Index.
func (ix *Index[S]) Commit(ctx context.Context) error {
	changes, err := ix.take()
	if err != nil || len(changes) == 0 {
		return ix.fail("commit", err)
	}
	return Write(ctx, ix, "commit", func(s S, dir *generation.Dir) error { return s.Commit(ctx, dir, changes) })
}

// Purge implements store.Index.
func (ix *Index[S]) Purge(ctx context.Context) error {
	err := Write(ctx, ix, "purge", func(s S, dir *generation.Dir) error { return s.Purge(ctx, dir) })
	if err == nil { // lest this index hold files that go: some systems remove no open file
		err = ix.read(ctx, "purge", func(S) error { return nil })
	}
	if err != nil {
		return err
	}
	return ix.fail("purge", ix.dir.Prune())
}
