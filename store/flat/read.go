package flat

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
	places := make([]bool, len(s.places))
	for i, p := range s.places {
		places[i] = p.path == path
	}
	var recs []store.Record
	if !slices.Contains(places, true) {
		return recs, nil
	}
	for row, place := range s.place {
		if !places[place] || s.dead.has(row) {
			continue
		}
		rec, err := s.record(row)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		recs = append(recs, rec)
	}
	slices.SortFunc(recs, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.ID, b.ID))
	})
	return recs, nil
}

// Count implements store.Index.
func (ix *Index) Count(ctx context.Context) (n int, err error) {
	err = ix.read(ctx, "count", func(s *snapshot) error {
		n = s.Live
		return nil
	})
	return n, err
}

// Stats implements store.Index.
func (ix *Index) Stats(ctx context.Context) (stats store.Stats, err error) {
	err = ix.read(ctx, "stats", func(s *snapshot) error {
		stats = store.Stats{
			Engine: "flat", Records: s.Live, Deleted: s.Rows - s.Live, Fragments: min(1, s.Rows),
			Bytes: s.vectorsSize() + s.codesSize() + s.meta.Records + s.tableSize(),
		}
		return nil
	})
	return stats, err
}
