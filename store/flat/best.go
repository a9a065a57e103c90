package flat

import (
	"bytes"
	"container/heap"
	"slices"
)

// A found is a row with its score.
type found struct {
	score float32
	row   int
}

// best keeps the k best rows in a heap, the worst on top.
type best struct {
	*snapshot
	k    int
	heap []found
}

// compare orders by falling score, then by ID.
func (b *best) compare(x, y found) int {
	switch {
	case x.score > y.score:
		return -1
	case x.score < y.score:
		return 1
	}
	return bytes.Compare(b.row(x.row).keyBytes(), b.row(y.row).keyBytes())
}

func (b *best) Len() int           { return len(b.heap) }
func (b *best) Less(i, j int) bool { return b.compare(b.heap[i], b.heap[j]) > 0 }
func (b *best) Swap(i, j int)      { b.heap[i], b.heap[j] = b.heap[j], b.heap[i] }
func (b *best) Push(any)           { panic("best: offer adds") }
func (b *best) Pop() any           { panic("best: nothing is removed") }

func (b *best) offer(x found) {
	switch {
	case len(b.heap) < b.k:
		b.heap = append(b.heap, x)
		if len(b.heap) == b.k {
			heap.Init(b)
		}
	case b.compare(x, b.heap[0]) < 0:
		b.heap[0] = x
		heap.Fix(b, 0)
	}
}

func (b *best) least() float32 {
	if len(b.heap) < b.k {
		return -2
	}
	return b.heap[0].score
}

// sorted returns what was kept, best first.
func (b *best) sorted() []found {
	slices.SortFunc(b.heap, b.compare)
	return b.heap
}
