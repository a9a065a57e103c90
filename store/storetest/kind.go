package storetest

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/memcore/memcore/store"
)

// dimension is that of most checks' vectors.
const dimension = 24

// common is in every keyword record.
const common = "memo"

// A kind is what shared checks know of an index.
type kind struct {
	open func(dir string) *index
	// dress adds a vector, or the common word to the text. Equal texts score equally.
	dress func(rec store.Record) store.Record
}

// An index has a search for all dressed records.
type index struct {
	store.Index
	search func(ctx context.Context, k int, f store.Filter) ([]store.Hit, error)
	// scores is the search by ID.
	scores  func(ctx context.Context, ids []string) (map[string]float64, error)
	vectors store.VectorIndex  // or nil
	words   store.KeywordIndex // or nil
}

func vectorKind(open func(dir string, dimension int) store.VectorIndex) kind {
	return kind{
		open: func(dir string) *index {
			ix := open(dir, dimension)
			return &index{
				Index: ix,
				search: func(ctx context.Context, k int, f store.Filter) ([]store.Hit, error) {
					return ix.Nearest(ctx, vectorOf("query"), k, f)
				},
				scores: func(ctx context.Context, ids []string) (map[string]float64, error) {
					return ix.Similarities(ctx, vectorOf("query"), ids)
				},
				vectors: ix,
			}
		},
		dress: func(rec store.Record) store.Record {
			rec.Vector = vectorOf(rec.Text)
			return rec
		},
	}
}

func keywordKind(open func(dir string) store.KeywordIndex) kind {
	return kind{
		open: func(dir string) *index {
			ix := open(dir)
			return &index{
				Index: ix,
				search: func(ctx context.Context, k int, f store.Filter) ([]store.Hit, error) {
					matches, err := ix.Match(ctx, common, k, f)
					return matches.Hits, err
				},
				scores: func(ctx context.Context, ids []string) (map[string]float64, error) {
					found, err := ix.Scores(ctx, common, ids)
					scores := map[string]float64{}
					for id, score := range found {
						scores[id] = score.Record
					}
					return scores, err
				},
				words: ix,
			}
		},
		dress: func(rec store.Record) store.Record {
			rec.Text = common + " " + rec.Text
			return rec
		},
	}
}

// vectorOf returns a random unit vector, seeded by text.
func vectorOf(text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return randomVector(rand.New(rand.NewPCG(h.Sum64(), 1)), dimension)
}

func randomVector(random *rand.Rand, n int) []float32 {
	vec := make([]float32, n)
	square := 0.0
	for i := range vec {
		vec[i] = float32(random.NormFloat64())
		square += float64(vec[i]) * float64(vec[i])
	}
	for i := range vec {
		vec[i] /= float32(math.Sqrt(square))
	}
	return vec
}

// cosine computes the exact cosine slowly.
func cosine(a, b []float32) float64 {
	dot, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(aa*bb)
}

// id returns a valid record ID.
func id(n int) string { return fmt.Sprintf("%08x", n) }

// record returns a plain record, by number.
func (x *fixture) record(n int, path string) store.Record {
	return x.kind.dress(store.Record{
		ID: id(n), Scope: "project", Kind: "markdown", Path: path, StartLine: n + 1, EndLine: n + 1,
		Text: fmt.Sprintf("text number%d", n), Tokens: 2,
	})
}

// records returns the records [lo, hi) of one document.
func (x *fixture) records(lo, hi int) []store.Record {
	recs := make([]store.Record, 0, hi-lo)
	for n := lo; n < hi; n++ {
		recs = append(recs, x.record(n, "notes/a.md"))
	}
	return recs
}
