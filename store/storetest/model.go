package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// A model is an index's expected content.
type model struct {
	committed, pending map[string]store.Record
}

// testModel makes random changes in an index and its model.
func testModel(x *fixture) {
	for seed := range uint64(4) {
		w := &walk{
			fixture: &fixture{TB: x.TB, kind: x.kind, dir: x.TempDir()},
			random:  rand.New(rand.NewPCG(seed, 7)),
			model:   model{map[string]store.Record{}, map[string]store.Record{}},
		}
		w.ix, w.reader = w.open(), w.open()
		for w.step = range 120 {
			w.next()
		}
		w.compare(w.ix)
		w.checkFolder(w.dir)
	}
}

// A walk is a series of random changes.
type walk struct {
	*fixture
	random *rand.Rand
	model  model
	ix     *index
	reader *index
	step   int
}

func (w *walk) next() {
	switch n := w.random.IntN(21); {
	case n < 8:
		w.putSome()
	case n < 12:
		w.deleteSome()
	case n < 17:
		w.commit(w.ix)
		w.model.committed = maps.Clone(w.model.pending)
		w.compare(w.ix)
		w.compare(w.reader)
	case n < 18:
		w.ix.Discard()
		w.model.pending = maps.Clone(w.model.committed)
	case n < 19:
		require.NoError(w, w.ix.Close())
		w.ix = w.open()
		w.model.pending = maps.Clone(w.model.committed)
		w.compare(w.ix)
	case n < 20:
		require.NoError(w, w.ix.Purge(w.Context()))
		w.compare(w.reader)
	default:
		w.compare(w.ix)
	}
}

func (w *walk) putSome() {
	var recs []store.Record
	for range w.random.IntN(12) {
		n := w.random.IntN(60)
		rec := w.kind.dress(store.Record{
			ID: id(n), Scope: []string{"project", "global"}[n%2], Kind: []string{"markdown", "conversation"}[n/2%2],
			Time: []time.Time{{}, someDay.Add(time.Duration(w.random.IntN(72)) * time.Hour)}[min(n%5, 1)],
			Path: fmt.Sprintf("dir%d/doc%d.md", w.random.IntN(3), w.random.IntN(2)), StartLine: w.random.IntN(5) + 1,
			Text: strings.Repeat("word ", w.random.IntN(50)) + fmt.Sprint(w.step), Tokens: w.step,
		})
		recs = append(recs, rec)
		w.model.pending[rec.ID] = rec
	}
	w.put(w.ix, recs...)
}

func (w *walk) deleteSome() {
	var ids []string
	for range w.random.IntN(8) {
		ids = append(ids, id(w.random.IntN(60)))
		delete(w.model.pending, ids[len(ids)-1])
	}
	w.delete(w.ix, ids...)
}

func (w *walk) compare(ix *index) {
	w.Helper()
	require.Equal(w, len(w.model.committed), w.count(ix), "step %d: Count", w.step)
	for _, f := range []store.Filter{
		{}, {Scope: "global"}, {Kind: "markdown"}, {NotKind: "markdown"}, {NotKind: "conversation", Path: "dir1"}, {Path: "dir1"}, {Path: "dir2/doc0.md"}, {Scope: "project", Not: []string{"dir0/doc0.md", "dir1/doc1.md"}},
		{Since: someDay.Add(20 * time.Hour)}, {Until: someDay.Add(50 * time.Hour)},
		{Kind: "markdown", Since: someDay.Add(10 * time.Hour), Until: someDay.Add(60 * time.Hour)},
	} {
		w.compareSearch(ix, f)
	}
	for path := range map[string]bool{"dir0/doc0.md": true, "dir1/doc0.md": true, "dir2/doc1.md": true} {
		require.Equal(w, w.wantDocument(path), emptyAsNil(w.document(ix, path)), "step %d: Document(%q)", w.step, path)
	}
	require.NoError(w, ix.Check(w.Context()), "step %d", w.step)
}

func emptyAsNil(recs []store.Record) []store.Record {
	var all []store.Record
	for _, rec := range recs {
		all = append(all, answer(rec))
	}
	return all
}

func (w *walk) wantDocument(path string) []store.Record {
	var recs []store.Record
	for _, id := range slices.Sorted(maps.Keys(w.model.committed)) {
		if rec := w.model.committed[id]; rec.Path == path {
			recs = append(recs, answer(rec))
		}
	}
	slices.SortStableFunc(recs, func(a, b store.Record) int { return a.StartLine - b.StartLine })
	return recs
}

func (w *walk) compareSearch(ix *index, f store.Filter) {
	w.Helper()
	hits := w.search(ix, 1000, f)
	want := map[string]store.Record{}
	for id, rec := range w.model.committed {
		if passes(rec, f) {
			want[id] = answer(rec)
		}
	}
	got := map[string]store.Record{}
	for _, hit := range hits {
		got[hit.Record.ID] = answer(hit.Record)
	}
	require.Equal(w, want, got, "step %d: search with %+v", w.step, f)
	require.Len(w, hits, len(got), "step %d: search with %+v", w.step, f)
	scores, err := ix.scores(w.Context(), append(idsOf(hits), id(999), "", "not an id"))
	require.NoError(w, err)
	require.Len(w, scores, len(hits), "step %d: scores by ID", w.step)
	for _, hit := range hits {
		require.Equal(w, hit.Score, scores[hit.Record.ID], "step %d: score by ID", w.step)
	}
	require.True(w, slices.IsSortedFunc(hits, compareHits), "step %d: order of %v", w.step, brief(hits))
}

// passes implements store.Filter's description.
func passes(rec store.Record, f store.Filter) bool {
	return (f.Scope == "" || f.Scope == rec.Scope) &&
		(f.Kind == "" || f.Kind == rec.Kind) && (f.NotKind == "" || f.NotKind != rec.Kind) &&
		(f.Path == "" || f.Path == rec.Path || strings.HasPrefix(rec.Path, f.Path+"/")) &&
		!slices.Contains(f.Not, rec.Path) &&
		(f.Since.IsZero() || !rec.Time.IsZero() && !rec.Time.Before(f.Since)) &&
		(f.Until.IsZero() || !rec.Time.IsZero() && rec.Time.Before(f.Until))
}

// someDay is the first day of records with a time.
var someDay = time.Date(2026, 3, 30, 0, 0, 0, 0, time.UTC)
