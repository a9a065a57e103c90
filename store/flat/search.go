package flat

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat/internal/dot"
	"github.com/memcore/memcore/store/internal/disk"
)

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
		r, err := s.record(found.row)
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		hits[i] = store.Hit{Record: r, Score: float64(found.score)}
	}
	return hits, nil
}

const (
	// blockSize rows are scored between checks of the context, in about 10 µs.
	blockSize = 256
	// alone rows are scored while another goroutine starts.
	alone = 1024
)

// scan returns the k best selected rows. Each goroutine takes blocks and keeps its own best.
func (s *snapshot) scan(ctx context.Context, query []float32, k int, rows selection) ([]found, error) {
	var next atomic.Int64
	var group errgroup.Group
	seen := s.verified.Load()
	scanners := make([]*scanner, max(1, min(runtime.GOMAXPROCS(0), s.Rows/alone)))
	for i := range scanners {
		x := &scanner{best: best{snapshot: s, k: k}, rows: rows, query: query, seen: seen}
		scanners[i] = x
		group.Go(func() error { return disk.Careful(false, func() error { return x.blocks(ctx, &next) }) })
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
	seen   *verified
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

// block scores selected rows. Documents are contiguous, so runs are long.
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

// scoreByCode scores rows that their codes do not rule out.
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

// score scores rows of one block.
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

// cosine corrects rounding. Only damaged vectors are further out.
func cosine(score float32) (float32, error) {
	if !(score >= -1.01 && score <= 1.01) {
		return 0, disk.Corrupt("vector has a cosine of %v", score)
	}
	return min(max(score, -1), 1), nil
}

func (s *snapshot) similarities(ctx context.Context, query []float32, ids []string) (map[string]float64, error) {
	keys := make([]key, 0, len(ids))
	for _, id := range ids {
		if disk.ValidID(id) {
			keys = append(keys, keyOf(id))
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

// find returns the live rows of known keys.
func (s *snapshot) find(keys []key) map[key]int {
	if s.Rows == 0 || len(keys) == 0 {
		return nil
	}
	return s.log.ids.find(s, keys)
}
