package storetest

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// vectorOnly are the clauses of a store.VectorIndex.
var vectorOnly = []check{
	{"Dimension is what it was opened with", testDimension},
	{"vectors of another length are refused", testWrongDimension},
	{"a bad vector refuses its Put and no other", testBadVectors},
	{"Nearest agrees with brute force", testNearest},
	{"scores are cosines", testCosines},
	{"Each gives every record and its vector back", testEach},
	{"a query that points nowhere is refused", testZeroQuery},
}

func testDimension(x *fixture) {
	ix := x.open()
	require.Equal(x, dimension, ix.vectors.Dimension())
	x.add(ix, x.records(0, 1)...)
	require.Equal(x, dimension, x.open().vectors.Dimension())
}

func testWrongDimension(x *fixture) {
	ix := x.open()
	for _, filled := range []bool{false, true} {
		for _, n := range []int{0, 1, dimension - 1, dimension + 1, 2 * dimension} {
			vec := randomVector(rand.New(rand.NewPCG(1, 1)), n)
			for name, err := range map[string]error{
				"Nearest":      second(ix.vectors.Nearest(x.Context(), vec, 3, store.Filter{})),
				"Similarities": second(ix.vectors.Similarities(x.Context(), vec, []string{id(0)})),
				"Put":          ix.Put(x.Context(), []store.Record{{ID: id(9), Text: "text", Vector: vec}}),
			} {
				if !errors.Is(err, store.ErrDimension) {
					x.Errorf("%s with %d numbers: error %v, want ErrDimension", name, n, err)
				}
			}
			ix.Discard()
		}
		if !filled {
			x.add(ix, x.records(0, 3)...)
		}
	}
	x.holds(ix, 0, 1, 2)
}

// badVectors have no direction, or not the norm 1.
func badVectors() map[string][]float32 {
	along := func(x float32) []float32 {
		vec := make([]float32, dimension)
		vec[1] = x
		return vec
	}
	return map[string][]float32{
		"none": nil, "one number too few": along(1)[1:], "zero": along(0), "no number": along(float32(math.NaN())),
		"infinite": along(float32(math.Inf(1))), "too long": along(1.01), "too short": along(0.99),
	}
}

func testBadVectors(x *fixture) {
	ix := x.open()
	x.add(ix, x.records(0, 2)...)
	x.put(ix, x.record(2, "notes/a.md"))
	for name, vec := range badVectors() {
		changed, fresh, bad := x.record(0, "elsewhere.md"), x.record(3, "notes/a.md"), x.record(4, "notes/a.md")
		bad.Vector = vec
		err := ix.Put(x.Context(), []store.Record{changed, fresh, bad})
		if err == nil || !strings.Contains(err.Error(), bad.ID) {
			x.Errorf("Put with a vector that is %s: error %v, want one that names record %s", name, err, bad.ID)
		}
	}
	x.commit(ix)
	x.holds(ix, 0, 1, 2)
	require.Empty(x, x.document(ix, "elsewhere.md"))
}

func testNearest(x *fixture) {
	ix := x.open()
	random := rand.New(rand.NewPCG(3, 5))
	var recs []store.Record
	for n := range 300 {
		rec := x.record(n, []string{"notes/a.md", "notes/b.md", "c.md"}[n%3])
		rec.Vector = randomVector(random, dimension)
		recs = append(recs, rec)
	}
	for some := range slices.Chunk(recs, 77) {
		x.add(ix, some...)
	}
	for _, n := range []int{5, 50, 120} {
		x.delete(ix, recs[n].ID)
		recs[n].Path = "deleted"
	}
	for _, n := range []int{6, 51, 121} {
		recs[n].Vector = randomVector(random, dimension)
		x.put(ix, recs[n])
	}
	x.commit(ix)
	for i := range 30 {
		vec, f := randomVector(random, dimension), store.Filter{Path: []string{"", "notes"}[i%2]}
		k := []int{1, 7, 50, 400}[i%4]
		hits, err := ix.vectors.Nearest(x.Context(), vec, k, f)
		require.NoError(x, err)
		x.compareBruteForce(hits, recs, vec, k, f)
	}
}

func (x *fixture) compareBruteForce(hits []store.Hit, recs []store.Record, vec []float32, k int, f store.Filter) {
	x.Helper()
	var want []float64
	byID := map[string]float64{}
	for _, rec := range recs {
		if rec.Path != "deleted" && passes(rec, f) {
			byID[rec.ID] = cosine(rec.Vector, vec)
			want = append(want, byID[rec.ID])
		}
	}
	slices.SortFunc(want, func(a, b float64) int { return -cmp.Compare(a, b) })
	want = want[:min(k, len(want))]
	require.Len(x, hits, len(want))
	for i, hit := range hits {
		require.InDelta(x, want[i], hit.Score, 1e-5, "score of hit %d", i)
		require.InDelta(x, byID[hit.Record.ID], hit.Score, 1e-5, "score of %s", hit.Record.ID)
	}
}

func testCosines(x *fixture) {
	ix := x.open()
	vec, opposite, across := make([]float32, dimension), make([]float32, dimension), make([]float32, dimension)
	vec[0], opposite[0], across[dimension-1] = 1, -1, 1
	x.add(ix,
		store.Record{ID: id(1), Text: "same", Vector: vec},
		store.Record{ID: id(2), Text: "opposite", Vector: opposite},
		store.Record{ID: id(3), Text: "across", Vector: across},
	)
	slightlyLong := slices.Clone(vec)
	slightlyLong[0] = 1.0009 // within a Record's tolerance
	x.add(ix, store.Record{ID: id(4), Text: "long", Vector: slightlyLong})
	got, err := ix.vectors.Similarities(x.Context(), vec, []string{id(1), id(2), id(3), id(4)})
	require.NoError(x, err)
	for n, want := range map[int]float64{1: 1, 2: -1, 3: 0, 4: 1} {
		require.InDelta(x, want, got[id(n)], 1.1e-3)
		if got[id(n)] < -1 || got[id(n)] > 1 {
			x.Errorf("cosine of %d = %v, want it in [-1, 1]", n, got[id(n)])
		}
	}
}

func testZeroQuery(x *fixture) {
	ix := x.open()
	x.add(ix, x.records(0, 3)...)
	for _, number := range []float32{0, float32(math.NaN()), float32(math.Inf(1))} {
		vec := make([]float32, dimension)
		vec[1] = number
		if hits, err := ix.vectors.Nearest(x.Context(), vec, 3, store.Filter{}); err == nil {
			x.Errorf("Nearest to a vector of %v: %d hits, no error", number, len(hits))
		}
	}
}

func testEach(x *fixture) {
	ix := x.open()
	reader, ok := ix.vectors.(store.VectorReader)
	require.True(x, ok)
	none := func(store.Record) error { return errors.New("there is no record") }
	require.NoError(x, reader.Each(x.Context(), none))
	all := x.records(0, 40)
	x.add(ix, all...)
	x.delete(ix, all[7].ID)
	x.commit(ix)
	want, got := map[string]store.Record{}, map[string]store.Record{}
	vectors := map[string][]float32{}
	for _, r := range slices.Delete(all, 7, 8) {
		want[r.ID], vectors[r.ID] = withoutVector(r), r.Vector
	}
	require.NoError(x, reader.Each(x.Context(), func(r store.Record) error {
		require.InDeltaSlice(x, vectors[r.ID], r.Vector, 1e-6)
		got[r.ID] = withoutVector(r)
		return nil
	}))
	require.Equal(x, want, got)
	stop, calls := errors.New("stop"), 0
	require.ErrorIs(x, reader.Each(x.Context(), func(store.Record) error { calls++; return stop }), stop)
	require.Equal(x, 1, calls)
}

func withoutVector(r store.Record) store.Record {
	r.Vector = nil
	return r
}
