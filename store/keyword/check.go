package keyword

import (
	"cmp"
	"context"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/memcore/memcore/store/internal/disk"
)

// Check implements disk.Snapshot; it reads everything.
func (s *snapshot) Check(ctx context.Context) error {
	c := &check{snapshot: s, seen: map[string]bool{}}
	for _, p := range s.parts {
		if err := c.part(ctx, p); err != nil {
			return err
		}
	}
	if c.lengths != s.manifest.Lengths {
		return disk.Corrupt("fields have %v terms, recorded are %v", c.lengths, s.manifest.Lengths)
	}
	return nil
}

type check struct {
	*snapshot
	seen    map[string]bool // IDs of live records
	lengths lengths
}

func (c *check) part(ctx context.Context, p *part) error {
	if err := p.verify(); err != nil {
		return err
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
		return disk.Corrupt("record %s is there twice", rec.ID)
	}
	c.seen[rec.ID] = true
	c.lengths.add(size)
	rows, err := p.DocNumbers([]string{rec.ID})
	if err != nil {
		return disk.Damaged(err)
	}
	if !rows.Equals(roaring.BitmapOf(uint32(row))) {
		return disk.Corrupt("record %s of %s is not found by its ID", rec.ID, p.entry.File)
	}
	return nil
}
