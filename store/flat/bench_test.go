package flat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// benchDimension is that of the built-in model.
const benchDimension = 384

// generated makes records like those of a real memory: documents of fifty chunks, texts of about
// six hundred characters.
type generated struct {
	random *rand.Rand
	made   int
}

func newGenerated(seed uint64) *generated { return &generated{random: rand.New(rand.NewPCG(seed, 1))} }

func (g *generated) vector(dimension int) []float32 {
	vec := make([]float32, dimension)
	for i := range vec {
		vec[i] = float32(g.random.NormFloat64())
	}
	return scaled(vec)
}

// scaled returns a vector with length 1.
func scaled(vec []float32) []float32 {
	square := 0.0
	for _, x := range vec {
		square += float64(x) * float64(x)
	}
	vec = slices.Clone(vec)
	for i := range vec {
		vec[i] = float32(float64(vec[i]) / math.Sqrt(square))
	}
	return vec
}

func (g *generated) records(n, dimension int) []store.Record {
	recs := make([]store.Record, n)
	for i := range recs {
		recs[i] = store.Record{
			ID: fmt.Sprintf("%032x%032x", g.random.Uint64(), g.random.Uint64()), Scope: []string{"project", "global"}[g.made/50%2],
			Kind: "markdown", Path: fmt.Sprintf("notes/%05d.md", g.made/50), StartLine: g.made%50*10 + 1, EndLine: g.made%50*10 + 9,
			Headings: []string{"Notes", "A section"}, Time: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC),
			Text: strings.Repeat("A sentence of a text. ", 20+g.random.IntN(20)), Hash: fmt.Sprintf("%064x", i), Tokens: 150,
			Vector: g.vector(dimension),
		}
		g.made++
	}
	return recs
}

// filled returns an index of n records.
func filled(tb testing.TB, n, dimension int) *Index {
	tb.Helper()
	ix, err := Open(tb.Context(), tb.TempDir(), dimension)
	require.NoError(tb, err)
	tb.Cleanup(func() { ix.Close() })
	for g := newGenerated(uint64(n)); g.made < n; {
		require.NoError(tb, ix.Put(tb.Context(), g.records(min(5000, n-g.made), dimension)))
		require.NoError(tb, ix.Commit(tb.Context()))
	}
	return ix
}

func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		ix := filled(b, n, benchDimension)
		for _, f := range []store.Filter{{}, {Scope: "project"}, {Path: "notes/00007.md"}} {
			b.Run(fmt.Sprintf("%d/%s%s", n, f.Scope, strings.ReplaceAll(f.Path, "/", "_")), func(b *testing.B) {
				g := newGenerated(7)
				for b.Loop() {
					hits, err := ix.Nearest(b.Context(), g.vector(benchDimension), 50, f)
					require.NoError(b, err)
					require.Len(b, hits, 50)
				}
			})
		}
	}
}

func BenchmarkSimilarities(b *testing.B) {
	ix := filled(b, 10_000, benchDimension)
	g := newGenerated(10_000)
	var ids []string
	for _, rec := range g.records(50, benchDimension) {
		ids = append(ids, rec.ID)
	}
	for b.Loop() {
		found, err := ix.Similarities(b.Context(), g.vector(benchDimension), ids)
		require.NoError(b, err)
		require.Len(b, found, 50)
	}
}

func BenchmarkDocument(b *testing.B) {
	ix := filled(b, 10_000, benchDimension)
	for b.Loop() {
		recs, err := ix.Document(b.Context(), "notes/00100.md")
		require.NoError(b, err)
		require.Len(b, recs, 50)
	}
}

// A commit of one row, and the first search after it.
func BenchmarkCommitOne(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ix := filled(b, n, benchDimension)
			g := newGenerated(3)
			for b.Loop() {
				require.NoError(b, ix.Put(b.Context(), g.records(1, benchDimension)))
				require.NoError(b, ix.Commit(b.Context()))
				_, err := ix.Nearest(b.Context(), g.vector(benchDimension), 1, store.Filter{})
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkCommit5000(b *testing.B) {
	g := newGenerated(4)
	recs := g.records(5000, benchDimension)
	for b.Loop() {
		ix, err := Open(b.Context(), b.TempDir(), benchDimension)
		require.NoError(b, err)
		require.NoError(b, ix.Put(b.Context(), recs))
		require.NoError(b, ix.Commit(b.Context()))
		require.NoError(b, ix.Close())
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		dir := filled(b, n, benchDimension).Folder()
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				ix, err := Open(b.Context(), dir, benchDimension)
				require.NoError(b, err)
				require.NoError(b, ix.Close())
			}
		})
		// As in a command that searches once.
		b.Run(fmt.Sprintf("%d and search", n), func(b *testing.B) {
			vec := newGenerated(9).vector(benchDimension)
			for b.Loop() {
				ix, err := Open(b.Context(), dir, benchDimension)
				require.NoError(b, err)
				_, err = ix.Nearest(b.Context(), vec, 50, store.Filter{})
				require.NoError(b, err)
				require.NoError(b, ix.Close())
			}
		})
	}
}
