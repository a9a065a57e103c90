package flat

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// benchDimension is that of the built-in model.
const benchDimension = 384

// generated makes records as an index of a real memory has them: documents of fifty chunks, texts
// of some six hundred characters.
type generated struct {
	random *rand.Rand
	made   int
}

func newGenerated(seed uint64) *generated { return &generated{random: rand.New(rand.NewPCG(seed, 1))} }

func (g *generated) vector() []float32 {
	vec := make([]float32, benchDimension)
	for i := range vec {
		vec[i] = float32(g.random.NormFloat64())
	}
	vec, _ = unit(vec)
	return vec
}

func (g *generated) records(n int) []store.Record {
	recs := make([]store.Record, n)
	for i := range recs {
		recs[i] = store.Record{
			ID: fmt.Sprintf("%032x%032x", g.random.Uint64(), g.random.Uint64()), Scope: []string{"project", "global"}[g.made/50%2],
			Kind: "markdown", Path: fmt.Sprintf("notes/%05d.md", g.made/50), StartLine: i%50*10 + 1, EndLine: i%50*10 + 9,
			Headings: []string{"Notes", "A section"}, Time: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC),
			Text: strings.Repeat("A sentence of a text. ", 20+g.random.IntN(20)), Hash: fmt.Sprintf("%064x", i), Tokens: 150,
			Vector: g.vector(),
		}
		g.made++
	}
	return recs
}

// A library of full indexes: the benchmarks of one run share them and leave them as they were.
var library = struct {
	sync.Mutex
	dirs map[int]string
}{dirs: map[int]string{}}

func fill(tb testing.TB, dir string, n int) {
	tb.Helper()
	ix, err := Open(tb.Context(), dir, benchDimension)
	require.NoError(tb, err)
	g := newGenerated(uint64(n))
	for g.made < n {
		require.NoError(tb, ix.Put(tb.Context(), g.records(min(5000, n-g.made))))
		require.NoError(tb, ix.Commit(tb.Context()))
	}
	require.NoError(tb, ix.Close())
}

func filled(b *testing.B, n int) *Index {
	b.Helper()
	dir := b.TempDir()
	fill(b, dir, n)
	ix, err := Open(b.Context(), dir, benchDimension)
	require.NoError(b, err)
	b.Cleanup(func() { ix.Close() })
	return ix
}

func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		ix := filled(b, n)
		for _, f := range []store.Filter{{}, {Scope: "project"}, {Path: "notes/00007.md"}} {
			b.Run(fmt.Sprintf("%d/%s%s", n, f.Scope, strings.ReplaceAll(f.Path, "/", "_")), func(b *testing.B) {
				vec := newGenerated(7).vector()
				for b.Loop() {
					hits, err := ix.Nearest(b.Context(), vec, 50, f)
					require.NoError(b, err)
					require.Len(b, hits, 50)
				}
			})
		}
	}
}
