package cache

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/memcore/memcore/embed"
)

// An item is a text to embed.
type item struct {
	key   key
	text  string
	claim *claim
}

// vectors are on disk for documents, else in memory.
type vectors interface {
	// get adds known vectors to found. The caller owns them.
	get(items []item, found map[key][]float32)
	// put stores vectors and does not change them.
	put(items []item, vecs [][]float32) error
	// enter precedes embedding a batch; leave follows storing it.
	enter(ctx context.Context) (leave func())
}

// A job is a call of Embed.
type job struct {
	cache   *Cache
	kind    embed.Kind
	vectors vectors
	found   map[key][]float32
	asked   int // texts sent to the inner embedder
}

// run finds or makes the vectors of all items.
func (j *job) run(ctx context.Context, items []item) error {
	j.vectors.get(items, j.found)
	for {
		items = j.missing(items)
		if len(items) == 0 {
			return nil
		}
		mine, theirs := j.cache.pending.claim(items)
		if err := j.make(ctx, mine); err != nil {
			return err
		}
		// It settles its own claims before it waits, so that two calls never wait for each other.
		// It claims others' failures in the next round.
		if err := j.await(ctx, theirs); err != nil {
			return err
		}
	}
}

func (j *job) missing(items []item) []item {
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool { return j.found[it.key] != nil })
}

// make embeds claimed items by batch, and always ends their claims.
func (j *job) make(ctx context.Context, mine []item) error {
	defer func() { j.cache.pending.settle(mine, j.found) }()
	for batch := range slices.Chunk(mine, j.cache.batch) {
		if err := j.embed(ctx, batch); err != nil {
			return err
		}
		j.cache.pending.settle(batch, j.found)
	}
	return nil
}

// embed makes a batch unless another process has stored it since.
func (j *job) embed(ctx context.Context, batch []item) error {
	leave := j.vectors.enter(ctx)
	defer leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	j.vectors.get(batch, j.found)
	batch = j.missing(batch)
	if len(batch) == 0 {
		return nil
	}
	texts := make([]string, len(batch))
	for i, it := range batch {
		texts[i] = it.text
	}
	vecs, err := j.cache.inner.Embed(ctx, j.kind, texts)
	if err != nil {
		return err
	}
	return j.keep(batch, vecs)
}

// keep stores vectors of the inner embedder.
func (j *job) keep(batch []item, vecs [][]float32) error {
	if len(vecs) != len(batch) {
		return fmt.Errorf("cache: %d vectors for %d texts: %w", len(vecs), len(batch), embed.ErrUnavailable)
	}
	if err := j.cache.sameLength(vecs); err != nil {
		return err
	}
	for i, it := range batch {
		j.found[it.key] = vecs[i]
	}
	j.asked += len(batch)
	if slices.ContainsFunc(vecs, broken) {
		return nil // the caller judges them, but they are not stored
	}
	if err := j.vectors.put(batch, vecs); err != nil {
		j.cache.warn(err)
	}
	return nil
}

// broken reports whether v is not a unit vector.
func broken(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return !(math.Abs(sum-1) < 0.01) // also for NaN
}

// sameLength compares new vectors with each other and with earlier ones. If lengths differ, the
// model was replaced under its fingerprint: the new length counts, and the next write removes
// stored vectors.
func (c *Cache) sameLength(vecs [][]float32) error {
	dim := len(vecs[0])
	for _, v := range vecs {
		if len(v) != dim || dim == 0 {
			return wrongLength(len(v), dim)
		}
	}
	known := int(c.dim.Swap(int64(dim)))
	if known == 0 || known == dim {
		return nil
	}
	c.queries.purge()
	return wrongLength(dim, known)
}

// await collects the vectors of other calls.
func (j *job) await(ctx context.Context, theirs map[key]*claim) error {
	for k, f := range theirs {
		select {
		case <-f.done:
			if f.vec != nil {
				j.found[k] = slices.Clone(f.vec)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
