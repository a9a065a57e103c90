package flat

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat/internal/dot"
)

// Nearest implements store.VectorIndex. vec may have any length but 0: a cosine does not depend on it.
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

// Similarities implements store.VectorIndex.
func (ix *Index) Similarities(ctx context.Context, vec []float32, ids []string) (found map[string]float64, err error) {
	query, err := ix.query(vec)
	if err != nil {
		return nil, ix.fail("similarities", err)
	}
	err = ix.read(ctx, "similarities", func(s *snapshot) error {
		found, err = s.similarities(ctx, query, ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// query checks a vector to search for and scales it to length 1.
func (ix *Index) query(vec []float32) ([]float32, error) {
	if len(vec) != ix.dimension {
		return nil, fmt.Errorf("%w: %d numbers, want %d", store.ErrDimension, len(vec), ix.dimension)
	}
	query, length := unit(vec)
	if query == nil {
		return nil, fmt.Errorf("vector has length %v", length)
	}
	return query, nil
}

func (s *snapshot) nearest(ctx context.Context, query []float32, k int, f store.Filter) ([]store.Hit, error) {
	if k = min(k, s.Live); k <= 0 {
		return nil, nil
	}
	selected, err := s.selectRows(f)
	if err != nil {
		return nil, err
	}
	rows, err := s.scan(ctx, query, k, selected)
	if err != nil {
		return nil, err
	}
	hits := make([]store.Hit, len(rows))
	for i, found := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if hits[i], err = s.hit(found); err != nil {
			return nil, err
		}
	}
	return hits, nil
}

// hit reads a record that was found.
func (s *snapshot) hit(x found) (store.Hit, error) {
	rec, err := s.record(x.row)
	return store.Hit{Record: rec, Score: float64(x.score)}, err
}

const (
	// blockSize is how many rows are scored between two looks at the context: some ten microseconds.
	blockSize = 256
	// alone is how many rows one goroutine scores in about the time it takes to start another.
	alone = 1024
)

// scan returns the k best of the selected rows. Goroutines take blocks of rows as they come, and each
// keeps its own best.
func (s *snapshot) scan(ctx context.Context, query []float32, k int, rows selection) ([]found, error) {
	var next atomic.Int64
	var group errgroup.Group
	seen := s.verifier.seen.Load()
	scanners := make([]*scanner, max(1, min(runtime.GOMAXPROCS(0), s.Rows/alone)))
	for i := range scanners {
		x := &scanner{best: best{snapshot: s, k: k}, rows: rows, query: query, seen: seen}
		scanners[i] = x
		group.Go(func() error { return careful(func() error { return x.blocks(ctx, &next) }) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := &scanners[0].best
	for _, x := range scanners[1:] {
		for _, found := range x.best.heap {
			all.offer(found)
		}
	}
	return all.sorted(), nil
}

// A scanner scores rows and keeps the best.
type scanner struct {
	best   best
	rows   selection
	query  []float32
	seen   *seen
	scores [blockSize]float32
	limits [blockSize]float32
}

func (x *scanner) blocks(ctx context.Context, next *atomic.Int64) error {
	s := x.rows.snapshot
	for {
		lo := int(next.Add(blockSize)) - blockSize
		if lo >= s.Rows {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.block(lo, min(lo+blockSize, s.Rows)); err != nil {
			return err
		}
	}
}

// block scores the selected rows from lo up to hi. Documents lie together, so runs are long.
func (x *scanner) block(lo, hi int) error {
	s := x.rows.snapshot
	for lo < hi {
		end := min(hi, s.vectors.end(lo), s.codes.end(lo))
		from, to := x.rows.run(lo, end)
		lo = to
		if from == to {
			continue
		}
		score := x.score
		if dot.CodesAreFast() && len(x.best.heap) == x.best.k {
			score = x.scoreByCode
		}
		if err := score(from, to); err != nil {
			return err
		}
	}
	return nil
}

// scoreByCode scores those rows from lo up to hi that their codes do not rule out.
func (x *scanner) scoreByCode(lo, hi int) error {
	s, limits := x.rows.snapshot, x.limits[:hi-lo]
	if err := s.verify(x.seen.codes, lo, s.checkCode); err != nil {
		return err
	}
	codes{s.Dimension, s.codes.between(lo, hi)}.limits(x.query, limits)
	for i, limit := range limits {
		if limit < x.best.least() {
			continue
		}
		if err := s.checkVector(lo + i); err != nil {
			return err
		}
		if err := x.scoreVectors(lo+i, lo+i+1); err != nil {
			return err
		}
	}
	return nil
}

// score offers the rows from lo up to hi, which are of one block, to the best.
func (x *scanner) score(lo, hi int) error {
	s := x.rows.snapshot
	if err := s.verify(x.seen.vectors, lo, s.checkVector); err != nil {
		return err
	}
	return x.scoreVectors(lo, hi)
}

func (x *scanner) scoreVectors(lo, hi int) error {
	scores := x.scores[:hi-lo]
	dot.Products(x.query, floatsOf(x.rows.vectors.between(lo, hi)), scores)
	for i, score := range scores {
		if score < x.best.least() {
			continue
		}
		score, err := cosine(score)
		if err != nil {
			return fmt.Errorf("%w: row %d", err, lo+i)
		}
		x.best.offer(found{score, lo + i})
	}
	return nil
}

// cosine limits a score to what rounding may have led it out of. Others only come from vectors that
// are not what was stored.
func cosine(score float32) (float32, error) {
	if !(score >= -1.01 && score <= 1.01) {
		return 0, corrupt("vector has a cosine of %v", score)
	}
	return min(max(score, -1), 1), nil
}

func (s *snapshot) similarities(ctx context.Context, query []float32, ids []string) (map[string]float64, error) {
	keys := make([]key, 0, len(ids))
	for _, id := range ids {
		if k, ok := keyOf(id); ok {
			keys = append(keys, k)
		}
	}
	found := make(map[string]float64, len(keys))
	var score [1]float32
	for k, row := range s.find(keys) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := s.checkVector(row); err != nil {
			return nil, err
		}
		dot.Products(query, s.vector(row), score[:])
		cosine, err := cosine(score[0])
		if err != nil {
			return nil, err
		}
		found[k.String()] = float64(cosine)
	}
	return found, nil
}

// find returns the live rows of the given keys; unknown ones are left out.
func (s *snapshot) find(keys []key) map[key]int {
	if s.Rows == 0 || len(keys) == 0 {
		return nil
	}
	return s.log.ids.find(s, keys)
}
