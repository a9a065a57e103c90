package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/memcore/memcore/store"
)

// An Embedder is what vectors are made with.
type Embedder struct {
	Fingerprint string // "" for none
	Dimension   int
	Scale       []float64 // of its cosines, if it was measured
}

// vectors are those of a principal's scopes. They implement store.VectorSearch.
type vectors struct {
	db        *DB
	session   session
	model     int16
	dimension int
}

// Dimension implements store.VectorSearch.
func (v vectors) Dimension() int { return v.dimension }

// Nearest implements store.VectorSearch, exactly.
func (v vectors) Nearest(ctx context.Context, vec []float32, k int, f store.Filter) (hits []store.Hit, err error) {
	vec, err = v.direction(vec)
	if err != nil || k <= 0 {
		return nil, err
	}
	// The subqueries are evaluated once, not for each row.
	where, arguments := filtered(f, []any{v.session.scopes, v.model, vec, k})
	statement := `select ` + recordColumns + `, -n.distance from (
			select scope, id, vector <#> (select $3::real[]::vector) as distance from embedding where scope = any ($1) and model = $2` + where + ` order by distance, id limit $4) n
		join record r using (scope, id) order by n.distance, r.id`
	err = v.db.read(ctx, v.session, func(b *pgx.Batch) {
		b.Queue(statement, arguments...).Query(func(rows pgx.Rows) error {
			hits, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h store.Hit, err error) {
				err = scanRecord(row, &h.Record, &h.Score)
				h.Score = cosine(h.Score)
				return h, err
			})
			return err
		})
	})
	return hits, err
}

// filtered appends the conditions of a filter, on vector's columns, and their arguments.
func filtered(f store.Filter, arguments []any) (string, []any) {
	var where strings.Builder
	add := func(condition string, argument any) {
		arguments = append(arguments, argument)
		where.WriteString(" and " + strings.ReplaceAll(condition, "?", fmt.Sprintf("$%d", len(arguments))))
	}
	if f.Scope != "" {
		add("visibility = ?", escaped(f.Scope))
	}
	if f.Kind != "" {
		add("kind = ?", escaped(f.Kind))
	}
	if f.NotKind != "" {
		add("kind <> ?", escaped(f.NotKind))
	}
	if f.Path != "" {
		add("(path = ? or starts_with(path, ? || '/'))", escaped(strings.TrimSuffix(f.Path, "/")))
	}
	if len(f.Not) > 0 {
		add("path <> all (?)", allEscaped(f.Not))
	}
	if !f.Since.IsZero() {
		add("time >= ?", f.Since)
	}
	if !f.Until.IsZero() {
		add("time < ?", f.Until)
	}
	return where.String(), arguments
}

// Similarities implements store.VectorSearch.
func (v vectors) Similarities(ctx context.Context, vec []float32, ids []string) (map[string]float64, error) {
	vec, err := v.direction(vec)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found := map[string]float64{}
	err = v.db.read(ctx, v.session, func(b *pgx.Batch) {
		b.Queue(`select id, -(vector <#> (select $3::real[]::vector)) from embedding where scope = any ($1) and model = $2 and id = any ($4)`,
			v.session.scopes, v.model, vec, allEscaped(ids)).Query(func(rows pgx.Rows) error {
			var id string
			var score float64
			_, err := pgx.ForEachRow(rows, []any{&id, &score}, func() error {
				found[id] = cosine(score)
				return nil
			})
			return err
		})
	})
	return found, err
}

// direction returns a vector of length 1.
func (v vectors) direction(vec []float32) ([]float32, error) {
	if len(vec) != v.dimension {
		return nil, fmt.Errorf("%w: %d, want %d", store.ErrDimension, len(vec), v.dimension)
	}
	square := 0.0
	for _, x := range vec {
		square += float64(x) * float64(x)
	}
	if !(square > 0) || math.IsInf(square, 0) {
		return nil, errors.New("the vector of the question has no direction")
	}
	unit := make([]float32, len(vec))
	for i, x := range vec {
		unit[i] = float32(float64(x) / math.Sqrt(square))
	}
	return unit, nil
}

// cosine corrects rounding.
func cosine(score float64) float64 { return min(max(score, -1), 1) }

// records returns those with some IDs that there still are.
func (db *DB) records(ctx context.Context, s session, which string, argument any) (all []store.Record, err error) {
	err = db.read(ctx, s, func(b *pgx.Batch) {
		b.Queue(`select `+recordColumns+` from record r where r.scope = any ($1) and `+which+` order by r.start_line, r.id`, s.scopes, argument).Query(func(rows pgx.Rows) error {
			all, err = pgx.CollectRows(rows, recordOf)
			return err
		})
	})
	return all, err
}
