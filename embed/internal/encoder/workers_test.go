package encoder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// batchOf returns a batch of texts with these numbers of tokens, the longest first.
func batchOf(t *testing.T, e *Encoder, vecs [][]float32, sizes ...int) []text {
	var texts []string
	for _, n := range sizes {
		texts = append(texts, strings.Repeat("m", n-2))
	}
	batch, err := e.tokenise(t.Context(), "", texts, vecs)
	require.NoError(t, err)
	return batch
}

// Vectors do not depend on the number of workers, also if a worker has several texts or part of
// one.
func TestWorkersDoNotMatter(t *testing.T) {
	m := fake(t)
	for _, sizes := range [][]int{{256}, {33}, {100, 64, 32, 3}, {40, 40, 40, 40, 40, 40}} {
		want := make([][]float32, len(sizes))
		m.embedBatch(t.Context(), batchOf(t, m, want, sizes...), 1)
		for workers := 2; workers <= 9; workers++ {
			got := make([][]float32, len(sizes))
			m.embedBatch(t.Context(), batchOf(t, m, got, sizes...), workers)
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("texts of %d tokens with %d workers: vector %d differs from that of one worker", sizes, workers, i)
				}
			}
		}
	}
}

// sharedContext ends after a number of calls from any goroutine.
type sharedContext struct {
	context.Context
	left atomic.Int32
}

func (c *sharedContext) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// If a context ends, all workers stop, and the batch can be used again.
func TestWorkersStopTogether(t *testing.T) {
	m := fake(t)
	for after := range 9 {
		done := make(chan [][]float32)
		vecs := make([][]float32, 2)
		batch := batchOf(t, m, vecs, 90, 20)
		ctx := &sharedContext{Context: t.Context()}
		ctx.left.Store(int32(after))
		go func() {
			m.embedBatch(ctx, batch, 3)
			done <- vecs
		}()
		select {
		case vecs := <-done:
			if finished := vecs[0] != nil && vecs[1] != nil; finished != (after >= 7) { // six layers and the end
				t.Errorf("context that ends at question %d: vectors %t, want %t", after, finished, after >= 7)
			}
		case <-time.After(time.Minute):
			t.Fatalf("context that ends at question %d: embedBatch does not return", after)
		}
	}
}

// Every row is in one share, and every token in one part.
func TestRowsOfWorkers(t *testing.T) {
	m := fake(t)
	for _, sizes := range [][]int{{256}, {100, 30, 30, 5}, {16, 16}} {
		for workers := 1; workers < 20; workers++ {
			b := new(batch)
			b.reset(batchOf(t, m, make([][]float32, len(sizes)), sizes...), workers)
			seen, next := map[string]int{}, 0
			for i := range b.workers {
				lo, hi := b.rowsOf(i)
				if lo != next || hi-lo < min(workerRows, b.rows) {
					t.Errorf("%d tokens, worker %d of %d has rows %d to %d, want them from %d and %d at least", sizes, i, b.workers, lo, hi, next, workerRows)
				}
				next = hi
				b.parts(lo, hi, func(p part) {
					for token := p.from; token < p.to; token++ {
						seen[fmt.Sprint(p.row, token)]++
						if at := p.row + token; at < lo || at >= hi {
							t.Errorf("row %d is in a part of rows %d to %d", at, lo, hi)
						}
					}
				})
			}
			for at, n := range seen {
				if n != 1 {
					t.Errorf("token %s is in %d parts, want 1", at, n)
				}
			}
			if next != b.rows || len(seen) != b.rows {
				t.Errorf("%d tokens, %d workers: %d rows and %d tokens were shared out of %d", sizes, b.workers, next, len(seen), b.rows)
			}
		}
	}
}
