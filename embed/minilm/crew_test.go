package minilm

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// batchOf makes a batch of texts with the given numbers of tokens, the longest first.
func batchOf(t *testing.T, vecs [][]float32, sizes ...int) []text {
	var texts []string
	for _, n := range sizes {
		texts = append(texts, generated(n-2))
	}
	batch, err := tokenise(t.Context(), texts, vecs)
	require.NoError(t, err)
	return batch
}

// However many work on a batch, each vector is the same to the last bit, also if a share ends within a
// text, or holds several.
func TestMembersDoNotMatter(t *testing.T) {
	m := New()
	for _, sizes := range [][]int{{256}, {33}, {100, 64, 32, 3}, {40, 40, 40, 40, 40, 40}} {
		want := make([][]float32, len(sizes))
		m.embedBatch(t.Context(), batchOf(t, want, sizes...), 1)
		for members := 2; members <= 9; members++ {
			got := make([][]float32, len(sizes))
			m.embedBatch(t.Context(), batchOf(t, got, sizes...), members)
			for i := range want {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("texts of %d tokens with %d members: vector %d differs from that of one member", sizes, members, i)
				}
			}
		}
	}
}

// sharedContext ends when it has been asked a number of times, by whomever.
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

// Wherever a context ends, all members stop, nobody waits for somebody who has gone, and the crew can be
// used again.
func TestMembersStopTogether(t *testing.T) {
	m := New()
	for after := range 9 {
		done := make(chan [][]float32)
		vecs := make([][]float32, 2)
		batch := batchOf(t, vecs, 90, 20)
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
		case <-time.After(10 * time.Second):
			t.Fatalf("context that ends at question %d: the crew does not return", after)
		}
	}
}

// Every row is in one share, and every token in one part.
func TestShares(t *testing.T) {
	for _, sizes := range [][]int{{256}, {100, 30, 30, 5}, {16, 16}} {
		for members := 1; members < 20; members++ {
			c := new(crew)
			c.size(batchOf(t, make([][]float32, len(sizes)), sizes...), members)
			seen, next := map[string]int{}, 0
			for i := range c.members {
				lo, hi := c.share(i)
				if lo != next || hi-lo < min(memberRows, c.rows) {
					t.Errorf("%d tokens, member %d of %d has rows %d to %d, want them from %d and %d at least", sizes, i, c.members, lo, hi, next, memberRows)
				}
				next = hi
				c.parts(lo, hi, func(p part) {
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
			if next != c.rows || len(seen) != c.rows {
				t.Errorf("%d tokens, %d members: %d rows and %d tokens were shared out of %d", sizes, c.members, next, len(seen), c.rows)
			}
		}
	}
}
