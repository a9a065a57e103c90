package flat

import (
	"context"
	"fmt"
	"math"

	"github.com/memcore/memcore/store"
)

// A batch is the changes before a commit, in the order in which they came; of those to one ID only
// the last is there.
type batch struct {
	changes []change
	at      map[key]int
}

// A change is a record to put, or, if it has no vector, the ID of one to delete.
type change struct {
	key    key
	place  place
	record []byte
	vector []float32
}

func (b *batch) add(c change) {
	if at, known := b.at[c.key]; known {
		b.changes[at] = c
		return
	}
	if b.at == nil {
		b.at = map[key]int{}
	}
	b.at[c.key] = len(b.changes)
	b.changes = append(b.changes, c)
}

func (b *batch) keys() []key {
	keys := make([]key, len(b.changes))
	for i, c := range b.changes {
		keys[i] = c.key
	}
	return keys
}

// Put implements store.Index. Vectors are scaled to length exactly 1. On an error none of recs is put.
func (ix *Index) Put(ctx context.Context, recs []store.Record) error {
	changes := make([]change, len(recs))
	for i, rec := range recs {
		var err error
		if changes[i], err = newChange(rec, ix.dimension); err != nil {
			return ix.fail("put", err)
		}
		if err := ctx.Err(); err != nil {
			return ix.fail("put", err)
		}
	}
	return ix.change(ctx, "put", changes)
}

// newChange copies what it keeps of rec.
func newChange(rec store.Record, dimension int) (change, error) {
	k, ok := keyOf(rec.ID)
	if !ok {
		return change{}, fmt.Errorf("record ID is %q, want 1 to 64 hex digits", rec.ID)
	}
	if len(rec.Vector) != dimension {
		return change{}, fmt.Errorf("%w: %d numbers in record %s, want %d", store.ErrDimension, len(rec.Vector), rec.ID, dimension)
	}
	vector, length := unit(rec.Vector)
	if vector == nil || math.Abs(length-1) > tolerance {
		return change{}, fmt.Errorf("vector of record %s has length %v, want 1", rec.ID, length)
	}
	c := change{k, place{rec.Scope, rec.Kind, rec.Path}, encodeRecord(rec), vector}
	if len(c.record) > maxRecord || len(rec.Scope)+len(rec.Kind)+len(rec.Path) > maxName {
		return change{}, fmt.Errorf("record %s is too long", rec.ID)
	}
	return c, nil
}

// Delete implements store.Index.
func (ix *Index) Delete(ctx context.Context, ids []string) error {
	changes := make([]change, 0, len(ids))
	for _, id := range ids {
		if k, ok := keyOf(id); ok {
			changes = append(changes, change{key: k})
		}
	}
	return ix.change(ctx, "delete", changes)
}

func (ix *Index) change(ctx context.Context, op string, changes []change) error {
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
func (ix *Index) Discard() {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.batch = batch{}
}

// takeBatch hands the batch over and begins a new one.
func (ix *Index) takeBatch() (batch, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return batch{}, store.ErrClosed
	}
	taken := ix.batch
	ix.batch = batch{}
	return taken, nil
}
