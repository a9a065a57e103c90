package flat

import (
	"bytes"
	"slices"
)

// A found is a row with its score.
type found struct {
	score float32
	row   int
}

// best keeps the k best of what it is offered, the worst of them on top of a heap.
type best struct {
	*snapshot
	k    int
	heap []found
}

// worse orders by score, then ID.
func (b *best) worse(x, y found) bool {
	if x.score != y.score {
		return x.score < y.score
	}
	return bytes.Compare(b.row(x.row).keyBytes(), b.row(y.row).keyBytes()) > 0
}

func (b *best) offer(x found) {
	switch {
	case len(b.heap) < b.k:
		b.heap = append(b.heap, x)
		b.up(len(b.heap) - 1)
	case b.worse(b.heap[0], x):
		b.heap[0] = x
		b.down(0)
	}
}

// least is a score below which nothing is kept.
func (b *best) least() float32 {
	if len(b.heap) < b.k {
		return -2
	}
	return b.heap[0].score
}

func (b *best) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !b.worse(b.heap[i], b.heap[parent]) {
			return
		}
		b.heap[i], b.heap[parent] = b.heap[parent], b.heap[i]
		i = parent
	}
}

func (b *best) down(i int) {
	for {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(b.heap); child++ {
			if b.worse(b.heap[child], b.heap[worst]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		b.heap[i], b.heap[worst] = b.heap[worst], b.heap[i]
		i = worst
	}
}

// sorted returns what was kept, best first.
func (b *best) sorted() []found {
	slices.SortFunc(b.heap, func(x, y found) int {
		if b.worse(y, x) {
			return -1
		}
		return 1
	})
	return b.heap
}
