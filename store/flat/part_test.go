package flat

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat/internal/dot"
)

func membersOf(records []store.Record) (all []Member) {
	for _, r := range records {
		all = append(all, Member{ID: r.ID, Path: r.Path, Kind: r.Kind, Scope: r.Scope, Time: r.Time, Code: NewCode(r.Vector)})
	}
	return all
}

// requireNearest compares candidates with the vectors themselves.
func requireNearest(t *testing.T, parts []*Part, records map[string][]store.Record, query []float32, k int, f store.Filter) {
	t.Helper()
	scores := map[string]float32{}
	for r := range flattened(records) {
		if f.Passes(r.Scope, r.Kind, r.Path) && f.PassesAt(r.Time) {
			var score [1]float32
			dot.Products(query, r.Vector, score[:])
			scores[r.ID] = score[0]
		}
	}
	nearest := slices.SortedFunc(maps.Keys(scores), func(a, b string) int { return cmp.Compare(scores[b], scores[a]) })
	nearest = nearest[:min(k, len(nearest))]
	found, err := Candidates(t.Context(), parts, query, k, f)
	require.NoError(t, err)
	unique := map[string]bool{}
	for _, id := range found {
		score, there := scores[id]
		require.True(t, there, "%+v", f)
		require.Greater(t, score, scores[nearest[len(nearest)-1]]-.1, "its code rules it out")
		unique[id] = true
	}
	require.Len(t, found, len(unique))
	for _, id := range nearest {
		require.True(t, unique[id], "%+v", f)
	}
}

func flattened(records map[string][]store.Record) func(func(store.Record) bool) {
	return func(yield func(store.Record) bool) {
		for _, some := range records {
			for _, r := range some {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// Whatever the changes and the filter, the nearest are among the candidates, and nothing else than
// what there is.
func TestTheNearestAreCandidates(t *testing.T) {
	g := newGenerated(4)
	const dimension = 100
	var parts, former [2]*Part
	var formerRecords map[string][]store.Record
	records := map[string][]store.Record{}
	filters := []store.Filter{
		{}, {NotKind: store.KindStatement}, {Kind: "conversation"}, {Scope: "global"}, {Path: "part1"}, {Path: "part0/7.md"}, {Not: []string{"part0/7.md", "part1/3.md"}},
		{Since: time.Unix(5_000, 0)}, {Until: time.Unix(30_000, 0), NotKind: store.KindStatement}, {Kind: "none"},
	}
	for change := range 120 {
		at := change % 2
		var gone []string
		var added []store.Record
		for range 1 + g.random.IntN(12) {
			path := fmt.Sprintf("part%d/%d.md", at, g.random.IntN(40))
			if slices.Contains(gone, path) {
				continue
			}
			gone = append(gone, path)
			delete(records, path)
			for _, r := range g.records(g.random.IntN(60), dimension) {
				r.Path, r.Kind, r.Time = path, []string{"markdown", "conversation", store.KindStatement}[g.random.IntN(3)], time.Time{}
				if n := g.random.IntN(40_000); n > 1_000 {
					r.Time = time.Unix(int64(n), 0)
				}
				added, records[path] = append(added, r), append(records[path], r)
			}
		}
		if change == 60 {
			more := g.records(maxInPartBlock+500, dimension)
			for _, r := range more {
				records[r.Path] = append(records[r.Path], r)
			}
			added = append(added, more...)
		}
		parts[at] = parts[at].With(gone, membersOf(added))
		require.Less(t, len(parts[at].blocks), 14)
		for _, b := range parts[at].blocks {
			require.LessOrEqual(t, len(b.times), max(2*b.alive+1, 1), "most rows live")
		}
		if change == 50 {
			former, formerRecords = parts, maps.Clone(records)
		}
		requireNearest(t, parts[:], records, g.vector(dimension), []int{1, 10, 300}[change%3], filters[change%len(filters)])
	}
	requireNearest(t, former[:], formerRecords, g.vector(dimension), 1_000, store.Filter{}) // a part never changes
	total := 0
	for range flattened(records) {
		total++
	}
	require.Equal(t, total, parts[0].Count()+parts[1].Count())
	require.Greater(t, parts[0].Bytes(), int64(parts[0].Count()*dimension))
	none, err := Candidates(t.Context(), []*Part{nil, parts[0]}, g.vector(dimension+8), 5, store.Filter{})
	require.NoError(t, err)
	require.Empty(t, none, "of another dimension")
}

// Many vectors that are the same are not all asked.
func TestCandidatesAreBounded(t *testing.T) {
	g := newGenerated(5)
	records := g.records(3*maxNear, small)
	for i := range records {
		records[i].Vector = records[0].Vector
	}
	p := (*Part)(nil).With(nil, membersOf(records))
	found, err := Candidates(t.Context(), []*Part{p}, records[0].Vector, 10, store.Filter{})
	require.NoError(t, err)
	require.Len(t, found, 10+maxNear)
}
