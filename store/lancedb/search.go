//go:build lancedb

package lancedb

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

func schemaOf(dimension int) *arrow.Schema {
	return table.Schema(dimension, table.NumberColumn(appendColumn), table.NumberColumn(sumColumn))
}

// Nearest implements store.VectorIndex. Above the size at which the table has an approximate index,
// hits can be missing that a search of all would find; see docs/benchmarks.md for how many.
func (ix *Index) Nearest(ctx context.Context, vec []float32, k int, f store.Filter) (hits []store.Hit, err error) {
	query, err := ix.query(vec)
	if err != nil {
		return nil, ix.fail("nearest", err)
	}
	err = ix.read(ctx, "nearest", func(s *snapshot) error {
		hits, err = s.nearest(ctx, query, k, f)
		return err
	})
	if err != nil {
		return nil, err
	}
	return hits, nil
}

// query is vec with length 1; one that has no direction is refused.
func (ix *Index) query(vec []float32) ([]float32, error) {
	if len(vec) != ix.dimension {
		return nil, store.ErrDimension
	}
	length := 0.0
	for _, x := range vec {
		length += float64(x) * float64(x)
	}
	if length == 0 || math.IsNaN(length) || math.IsInf(length, 0) {
		return nil, fmt.Errorf("vector has length %v, want one with a direction", math.Sqrt(length))
	}
	query := slices.Clone(vec)
	for i, x := range vec {
		query[i] = float32(float64(x) / math.Sqrt(length))
	}
	return query, nil
}

// widening is how many times more hits than needed are asked of the approximate index if some of them
// may not pass the filter.
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

// approximately asks the index for more than k hits without the filter: with it, the index would look
// for what passes only where most of the nearest are. Few pass if the filter is narrow; then the
// caller searches exactly.
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

// tied is how many hits more than k are asked for, to see whether others score like the last.
const tied = 8

// best returns the k best hits in order, those of equal score by ID.
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

// cosineOf is the cosine of two vectors of length 1 with this squared distance.
func cosineOf(distance float64) float64 { return max(-1, min(1, 1-distance/2)) }

// Similarities implements store.VectorIndex. It is exact.
func (ix *Index) Similarities(ctx context.Context, vec []float32, ids []string) (scores map[string]float64, err error) {
	query, err := ix.query(vec)
	if err != nil {
		return nil, ix.fail("similarities", err)
	}
	err = ix.read(ctx, "similarities", func(s *snapshot) error {
		scores, err = s.similarities(ctx, query, ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	return scores, nil
}

func (s *snapshot) similarities(ctx context.Context, query []float32, ids []string) (map[string]float64, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !validID(id) })
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
