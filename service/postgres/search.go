package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
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
	model     string // fingerprint
	dimension int
	codes     []*flat.Part
}

func codesOf(now []*held) (all []*flat.Part) {
	for _, h := range now {
		all = append(all, h.codes)
	}
	return all
}

// queueCodes queues a statement that returns vectors, whose codes r gets.
func queueCodes(b *pgx.Batch, statement string, r *reading, arguments ...any) {
	b.Queue(statement, arguments...).Query(func(rows pgx.Rows) error {
		var scope int64
		var m flat.Member
		var at *time.Time
		var sent []byte
		var vector []float32
		_, err := pgx.ForEachRow(rows, []any{&scope, &m.ID, &m.Path, &m.Kind, &m.Scope, &at, (*pgtype.DriverBytes)(&sent)}, func() error {
			m.Path, m.Kind, m.Scope, m.Time = unescaped(m.Path), unescaped(m.Kind), unescaped(m.Scope), time.Time{}
			if at != nil {
				m.Time = at.UTC()
			}
			// A vector is sent as its dimension and a zero, in 16 bits each, and its numbers.
			vector = vector[:0]
			for rest := sent[min(4, len(sent)):]; len(rest) >= 4; rest = rest[4:] {
				vector = append(vector, math.Float32frombits(binary.BigEndian.Uint32(rest)))
			}
			m.Code = flat.NewCode(vector)
			return r.vector(scope, m)
		})
		return err
	})
}

// Dimension implements store.VectorSearch.
func (v *vectors) Dimension() int { return v.dimension }

// Nearest implements store.VectorSearch: codes say which vectors may be the nearest, the database
// which are. If one of these is gone since the codes were looked at, another may be near that they do
// not know: the question is asked again, of one state of the database.
func (v *vectors) Nearest(ctx context.Context, vec []float32, k int, f store.Filter) (hits []store.Hit, err error) {
	vec, err = v.direction(vec)
	if err != nil || k <= 0 {
		return nil, err
	}
	hits, missed, err := v.nearest(ctx, v.codes, vec, k, f)
	if err != nil || !missed {
		return hits, err
	}
	err = v.db.lookTogether(ctx, v.session, v.model, func(ctx context.Context, now []*held) error {
		hits, _, err = v.nearest(ctx, codesOf(now), vec, k, f)
		return err
	})
	return hits, err
}

// nearest also tells whether a vector is gone that codes named.
func (v *vectors) nearest(ctx context.Context, codes []*flat.Part, vec []float32, k int, f store.Filter) (hits []store.Hit, missed bool, err error) {
	ids, err := flat.Candidates(ctx, codes, vec, k, f)
	if err != nil || len(ids) == 0 {
		return nil, false, err
	}
	found := 0
	err = v.db.read(ctx, v.session, func(b *pgx.Batch) {
		// The subqueries are evaluated once, not for each row.
		b.Queue(`select `+recordColumns+`, -n.distance, n.found from (
				select scope, id, vector <#> (select $3::real[]::vector) as distance, count(*) over () as found from embedding
				where scope = any ($1) and model = `+modelNumber("$2")+` and id = any ($4) order by distance, id limit $5) n
			join record r using (scope, id) order by n.distance, r.id`, v.session.scopes, v.model, vec, ids, k).Query(func(rows pgx.Rows) error {
			hits, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h store.Hit, err error) {
				err = scanRecord(row, &h.Record, &h.Score, &found)
				h.Score = cosine(h.Score)
				return h, err
			})
			return err
		})
	})
	return hits, found < len(ids), err
}

// Similarities implements store.VectorSearch.
func (v *vectors) Similarities(ctx context.Context, vec []float32, ids []string) (map[string]float64, error) {
	vec, err := v.direction(vec)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	found := map[string]float64{}
	err = v.db.read(ctx, v.session, func(b *pgx.Batch) {
		b.Queue(`select id, -(vector <#> (select $3::real[]::vector)) from embedding where scope = any ($1) and model = `+modelNumber("$2")+` and id = any ($4)`,
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
func (v *vectors) direction(vec []float32) ([]float32, error) {
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
