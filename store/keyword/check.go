package keyword

import (
	"cmp"
	"context"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/memcore/memcore/store"
)

// checksumSize is what a segment's checksum takes at its end.
const checksumSize = 4

// Check implements store.Index: it reads every byte and every record.
func (ix *Index) Check(ctx context.Context) error {
	return ix.read(ctx, "check", func(s *snapshot) error {
		c := &check{snapshot: s, seen: map[string]bool{}}
		for _, p := range s.parts {
			if err := c.part(ctx, p); err != nil {
				return err
			}
		}
		if c.lengths != s.manifest.Lengths {
			return fmt.Errorf("%w: fields have %v terms, recorded are %v", store.ErrCorrupt, c.lengths, s.manifest.Lengths)
		}
		return nil
	})
}

type check struct {
	*snapshot
	seen    map[string]bool // IDs of live records
	lengths lengths
}

func (c *check) part(ctx context.Context, p *part) error {
	if err := verify(p.Segment); err != nil {
		return fmt.Errorf("%s: %w", p.entry.File, err)
	}
	for row := range p.Count() {
		if p.entry.Deleted.Contains(uint32(row)) {
			continue
		}
		if err := cmp.Or(ctx.Err(), c.row(p, row)); err != nil {
			return err
		}
	}
	return nil
}

func (c *check) row(p *part, row uint64) error {
	rec, size, err := p.record(row)
	if err != nil {
		return err
	}
	if c.seen[rec.ID] {
		return fmt.Errorf("%w: record %s is there twice", store.ErrCorrupt, rec.ID)
	}
	c.seen[rec.ID] = true
	c.lengths.add(size)
	rows, err := p.DocNumbers([]string{rec.ID})
	if err != nil {
		return damaged(err)
	}
	if !rows.Equals(roaring.BitmapOf(uint32(row))) {
		return fmt.Errorf("%w: record %s of %s is not found by its ID", store.ErrCorrupt, rec.ID, p.entry.File)
	}
	return nil
}
