package encoder

import (
	"context"
	"sync"
)

// workerRows are the least for a worker: fewer take longer to start than they save.
const workerRows = 16

// A batch is computed by several workers. Each has rows, one a token, and reads others' only for
// attention and at the end.
type batch struct {
	barrier
	texts []text
	rows  int
	x     []float32    // rows of length hidden, changed by each layer
	qkv   [2][]float32 // query, key and value of each row; layers alternate
}

// reset prepares the batch for texts.
func (b *batch) reset(texts []text, workers int) {
	b.texts, b.rows = texts, 0
	for _, t := range texts {
		b.rows += len(t.ids)
	}
	if b.opened == nil {
		b.opened = sync.NewCond(&b.mu)
	}
	b.workers = max(1, min(workers, b.rows/workerRows))
	grow(&b.x, b.rows*hidden)
	for i := range b.qkv[:min(b.workers, 2)] {
		grow(&b.qkv[i], b.rows*qkv)
	}
}

// qkvOf returns a layer's query, key and value. A single worker needs only one.
func (b *batch) qkvOf(layer int) []float32 { return b.qkv[layer%min(b.workers, 2)] }

// rowsOf returns the rows [lo, hi) of a worker.
func (b *batch) rowsOf(worker int) (lo, hi int) {
	return worker * b.rows / b.workers, (worker + 1) * b.rows / b.workers
}

// A part is the tokens [from, to) of a text in a worker's rows; row is its first token's.
type part struct {
	text
	row, from, to int
}

func (b *batch) parts(lo, hi int, do func(part)) {
	row := 0
	for _, t := range b.texts {
		from, to := max(lo-row, 0), min(hi-row, len(t.ids))
		if from < to {
			do(part{t, row, from, to})
		}
		row += len(t.ids)
	}
}

// run runs all workers.
func (b *batch) run(ctx context.Context, work func(ctx context.Context, lo, hi int)) {
	var wg sync.WaitGroup
	for i := 1; i < b.workers; i++ {
		lo, hi := b.rowsOf(i)
		wg.Go(func() { work(ctx, lo, hi) })
	}
	lo, hi := b.rowsOf(0)
	work(ctx, lo, hi)
	wg.Wait()
}
