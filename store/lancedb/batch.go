//go:build lancedb

package lancedb

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/store"
)

// A batch is the changes before a commit: by ID the record to put, or nil to delete it.
type batch struct {
	changes map[string]*store.Record
	order   []string // IDs, in the order in which they were first named
}

func (b *batch) add(id string, record *store.Record) {
	if b.changes == nil {
		b.changes = map[string]*store.Record{}
	}
	if _, known := b.changes[id]; !known {
		b.order = append(b.order, id)
	}
	b.changes[id] = record
}

// put are the records to put, in order.
func (b *batch) put() []store.Record {
	var records []store.Record
	for _, id := range b.order {
		if record := b.changes[id]; record != nil {
			records = append(records, *record)
		}
	}
	return records
}

// Put implements store.Index. Vectors are scaled to length exactly 1. On an error none of recs is put.
func (ix *Index) Put(ctx context.Context, recs []store.Record) error {
	kept := make([]store.Record, len(recs))
	for i, rec := range recs {
		var err error
		if kept[i], err = keep(rec, ix.dimension); err != nil {
			return ix.fail("put", err)
		}
		if err := ctx.Err(); err != nil {
			return ix.fail("put", err)
		}
	}
	return ix.change(ctx, "put", func(b *batch) {
		for i := range kept {
			b.add(kept[i].ID, &kept[i])
		}
	})
}

// tolerance is how far the length of a record's vector may be from 1.
const tolerance = 1e-3

// keep copies what is kept of a record, in the form in which it comes back.
func keep(rec store.Record, dimension int) (store.Record, error) {
	if !validID(rec.ID) {
		return rec, fmt.Errorf("record ID is %q, want 1 to 64 hex digits", rec.ID)
	}
	if len(rec.Vector) != dimension {
		return rec, fmt.Errorf("%w: %d numbers in record %s, want %d", store.ErrDimension, len(rec.Vector), rec.ID, dimension)
	}
	length := 0.0
	for _, x := range rec.Vector {
		length += float64(x) * float64(x)
	}
	length = math.Sqrt(length)
	if !(math.Abs(length-1) <= tolerance) { // also if it is not a number
		return rec, fmt.Errorf("vector of record %s has length %v, want 1", rec.ID, length)
	}
	rec.Vector = slices.Clone(rec.Vector)
	for i, x := range rec.Vector {
		rec.Vector[i] = float32(float64(x) / length)
	}
	rec.Headings = slices.Clone(rec.Headings)
	if !rec.Time.IsZero() {
		rec.Time = rec.Time.Truncate(time.Second).UTC()
	}
	return rec, nil
}

func validID(id string) bool {
	return len(id) >= 1 && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}

// Delete implements store.Index.
func (ix *Index) Delete(ctx context.Context, ids []string) error {
	return ix.change(ctx, "delete", func(b *batch) {
		for _, id := range ids {
			if validID(id) {
				b.add(id, nil)
			}
		}
	})
}

func (ix *Index) change(ctx context.Context, op string, change func(*batch)) error {
	if err := ctx.Err(); err != nil {
		return ix.fail(op, err)
	}
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return ix.fail(op, store.ErrClosed)
	}
	change(&ix.batch)
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
