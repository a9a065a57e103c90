package cache

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/memcore/memcore/embed"
)

// An item is a text to embed, its key, and the claim that a job has on it, if it has one.
type item struct {
	key    key
	text   string
	flight *flight
}

// A shelf is where vectors are kept: the disk for documents, memory for queries.
type shelf interface {
	// get adds to found the vectors it has; each belongs to the caller.
	get(items []item, found map[key][]float32)
	// put keeps vectors, which it does not change.
	put(items []item, vecs [][]float32) error
	// enter waits a little while another process embeds, so that its vectors can be read instead of
	// made again; leave ends what enter began.
	enter(ctx context.Context) (leave func())
}

// A job is one call of Embed. Only its own goroutine uses it.
type job struct {
	cache *Cache
	kind  embed.Kind
	shelf shelf
	found map[key][]float32
	asked int // texts the inner embedder was asked for
}

// run finds or makes the vectors of all items.
func (j *job) run(ctx context.Context, items []item) error {
	j.shelf.get(items, j.found)
	for {
		items = j.missing(items)
		if len(items) == 0 {
			return nil
		}
		mine, theirs := j.cache.flights.claim(items)
		if err := j.make(ctx, mine); err != nil {
			return err
		}
		// Own claims are settled before waiting, so two calls never wait for each other. What another
		// call could not make is missing still, and its turn comes here.
		if err := j.await(ctx, theirs); err != nil {
			return err
		}
	}
}

func (j *job) missing(items []item) []item {
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool { return j.found[it.key] != nil })
}

// make embeds claimed items, batch by batch, and gives their claims back whatever happens.
func (j *job) make(ctx context.Context, mine []item) error {
	defer func() { j.cache.flights.settle(mine, j.found) }()
	for batch := range slices.Chunk(mine, j.cache.batch) {
		if err := j.embed(ctx, batch); err != nil {
			return err
		}
		j.cache.flights.settle(batch, j.found)
	}
	return nil
}

// embed makes one batch, or finds it: others may have stored it since it was missed.
func (j *job) embed(ctx context.Context, batch []item) error {
	leave := j.shelf.enter(ctx)
	defer leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	j.shelf.get(batch, j.found)
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

// keep takes over what the inner embedder made.
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
		return nil // not ours to judge, but not to be kept for ever either
	}
	if err := j.shelf.put(batch, vecs); err != nil {
		j.cache.warn(err)
	}
	return nil
}

// broken says whether v is no unit vector.
func broken(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return !(math.Abs(sum-1) < 0.01) // also if it is not a number
}

// sameLength checks new vectors against each other and against what callers were told. Where that
// differs, the model was replaced under its fingerprint, and from here on it is the new length that
// counts; stored vectors are of no use any more, and go with the next that is stored.
func (c *Cache) sameLength(vecs [][]float32) error {
	dim := len(vecs[0])
	for _, v := range vecs {
		if len(v) != dim || dim == 0 {
			return fmt.Errorf("cache: vectors of %d and %d numbers: %w", dim, len(v), embed.ErrDimension)
		}
	}
	told := int(c.told.Swap(int64(dim)))
	if told == 0 || told == dim {
		return nil
	}
	c.queries.purge()
	return fmt.Errorf("cache: vectors have %d numbers, they had %d: %w", dim, told, embed.ErrDimension)
}

// await takes over what other calls make.
func (j *job) await(ctx context.Context, theirs map[key]*flight) error {
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
