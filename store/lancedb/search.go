//go:build lancedb

package lancedb

import (
	"cmp"
	"context"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

func schemaOf(dimension int) *arrow.Schema {
	return table.Schema(dimension, table.NumberColumn(appendColumn), table.NumberColumn(sumColumn))
}

// widening multiplies the hits asked of the approximate index if a filter may reject some.
const widening = 4

func (s *snapshot) nearest(ctx context.Context, query []float32, k int, f store.Filter) ([]store.Hit, error) {
	if k <= 0 || s.rows() == 0 {
		return nil, nil
	}
	if s.approximate() {
		hits, err := s.approximately(ctx, query, k, f)
		if err != nil || len(hits) == min(k, s.rows()) {
			return hits, err
		}
	}
	t, err := s.exactly(ctx)
	if err != nil {
		return nil, err
	}
	return best(ctx, t, query, k, table.Where(f))
}

// approximately asks the index for more hits, unfiltered: filtered, it would search only the
// nearest partitions. A narrow filter leaves few; the caller then searches exactly.
func (s *snapshot) approximately(ctx context.Context, query []float32, k int, f store.Filter) ([]store.Hit, error) {
	t, err := s.all(ctx)
	if err != nil {
		return nil, err
	}
	if table.Where(f) == "" {
		return best(ctx, t, query, k, "")
	}
	hits, err := best(ctx, t, query, widening*k, "")
	hits = slices.DeleteFunc(hits, func(hit store.Hit) bool {
		return !f.Passes(hit.Record.Scope, hit.Record.Kind, hit.Record.Path) || !f.PassesAt(hit.Record.Time)
	})
	return hits[:min(k, len(hits))], err
}

// tied hits beyond k are read, to find equal scores.
const tied = 8

// best returns the k best, equal scores by ID.
func best(ctx context.Context, t *table.Table, query []float32, k int, where string) ([]store.Hit, error) {
	for wanted := k + tied; ; wanted *= 2 {
		rows, err := t.Select(ctx, table.Query{
			Columns: table.RecordColumns(), Where: where, Near: &table.Vector{Query: query, K: wanted}})
		if err != nil {
			return nil, err
		}
		slices.SortFunc(rows, func(a, b table.Row) int {
			return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Record.ID, b.Record.ID))
		})
		if len(rows) == wanted && rows[k-1].Distance == rows[wanted-1].Distance {
			continue
		}
		hits := make([]store.Hit, min(k, len(rows)))
		for i := range hits {
			hits[i] = store.Hit{Record: rows[i].Record, Score: cosineOf(rows[i].Distance)}
		}
		return hits, nil
	}
}

// cosineOf takes the squared distance of unit vectors.
func cosineOf(distance float64) float64 { return max(-1, min(1, 1-distance/2)) }

func (s *snapshot) similarities(ctx context.Context, query []float32, ids []string) (map[string]float64, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !disk.ValidID(id) })
	slices.Sort(ids)
	ids = slices.Compact(ids)
	scores := map[string]float64{}
	if len(ids) == 0 || s.rows() == 0 {
		return scores, nil
	}
	t, err := s.exactly(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := t.Select(ctx, table.Query{
		Columns: []string{"id"}, Where: table.In("id", ids), Near: &table.Vector{Query: query, K: len(ids)}})
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		scores[row.Record.ID] = cosineOf(row.Distance)
	}
	return scores, nil
}
