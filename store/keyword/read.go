package keyword

import (
	"cmp"
	"context"
	"slices"

	"github.com/memcore/memcore/store"
)

// Document implements store.Index.
func (ix *Index) Document(ctx context.Context, path string) (recs []store.Record, err error) {
	err = ix.read(ctx, "document", func(s *snapshot) error {
		recs, err = s.document(ctx, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return recs, nil
}

func (s *snapshot) document(ctx context.Context, path string) ([]store.Record, error) {
	var recs []store.Record
	for _, p := range s.parts {
		rows, err := p.rows(documentFacet(path))
		if err != nil {
			return nil, damaged(err)
		}
		for row := rows.Iterator(); row.HasNext(); {
			rec, _, err := p.record(uint64(row.Next()))
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			recs = append(recs, rec)
		}
	}
	slices.SortFunc(recs, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.ID, b.ID))
	})
	return recs, nil
}

// Count implements store.Index.
func (ix *Index) Count(ctx context.Context) (n int, err error) {
	err = ix.read(ctx, "count", func(s *snapshot) error {
		n = s.live
		return nil
	})
	return n, err
}

// Stats implements store.Index.
func (ix *Index) Stats(ctx context.Context) (stats store.Stats, err error) {
	err = ix.read(ctx, "stats", func(s *snapshot) error {
		stats = store.Stats{Engine: "bleve", Records: s.live, Fragments: len(s.parts), Deleted: s.rows - s.live}
		for _, p := range s.parts {
			stats.Bytes += p.entry.Bytes
		}
		return nil
	})
	return stats, err
}
