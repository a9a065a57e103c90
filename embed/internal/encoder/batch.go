package encoder

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// wave texts are tokenised at a time, to bound memory.
const wave = 4096

// batchTokens: with fewer, unpacking weights costs more; more exceed the nearer caches.
const batchTokens = 256

// A text is its tokens, the first and last of every text included.
type text struct {
	ids []int32
	vec *[]float32
}

func (e *Encoder) embedWave(ctx context.Context, prefix string, texts []string, vecs [][]float32) error {
	tokens, err := e.tokenise(ctx, prefix, texts, vecs)
	if err != nil {
		return err
	}
	procs := runtime.GOMAXPROCS(0)
	batches := cutBatches(tokens, procs)
	var next atomic.Int64
	work := func() {
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(batches) {
				return
			}
			e.embedBatch(ctx, batches[i], procs/len(batches))
		}
	}
	var wg sync.WaitGroup
	for range min(procs, len(batches)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return ctx.Err()
}

func (e *Encoder) tokenise(ctx context.Context, prefix string, texts []string, vecs [][]float32) ([]text, error) {
	out := make([]text, len(texts))
	for i, s := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s = prefix + s
		ids := append(make([]int32, 0, min(len(s), e.MaxTokens())+2), e.first)
		ids = append(e.tokenizer.Append(ids, s, e.MaxTokens()), e.last)
		out[i] = text{ids, &vecs[i]}
	}
	return out, nil
}

// cutBatches cuts texts, by falling length, into batches for all processors.
func cutBatches(texts []text, procs int) [][]text {
	total := 0
	for _, t := range texts {
		total += len(t.ids)
	}
	limit := min(batchTokens, (total+procs-1)/procs)
	slices.SortStableFunc(texts, func(a, b text) int { return cmp.Compare(len(b.ids), len(a.ids)) })
	var batches [][]text
	for len(texts) > 0 {
		n, tokens := 1, len(texts[0].ids)
		for n < len(texts) && tokens+len(texts[n].ids) <= limit {
			tokens += len(texts[n].ids)
			n++
		}
		batches = append(batches, texts[:n])
		texts = texts[n:]
	}
	return batches
}
