package storetest

import (
	"context"
	"slices"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// Steps must succeed; a test reads as a list of them.

func (x *fixture) put(ix *index, recs ...store.Record) {
	x.Helper()
	require.NoError(x, ix.Put(x.Context(), recs))
}

func (x *fixture) delete(ix *index, ids ...string) {
	x.Helper()
	require.NoError(x, ix.Delete(x.Context(), ids))
}

func (x *fixture) commit(ix *index) {
	x.Helper()
	require.NoError(x, ix.Commit(x.Context()))
}

// add puts and commits.
func (x *fixture) add(ix *index, recs ...store.Record) {
	x.Helper()
	x.put(ix, recs...)
	x.commit(ix)
}

func (x *fixture) search(ix *index, k int, f store.Filter) []store.Hit {
	x.Helper()
	hits, err := ix.search(x.Context(), k, f)
	require.NoError(x, err)
	return hits
}

func (x *fixture) document(ix *index, path string) []store.Record {
	x.Helper()
	recs, err := ix.Document(x.Context(), path)
	require.NoError(x, err)
	return recs
}

func (x *fixture) count(ix *index) int {
	x.Helper()
	n, err := ix.Count(x.Context())
	require.NoError(x, err)
	return n
}

// found returns the sorted IDs that pass the filter.
func (x *fixture) found(ix *index, f store.Filter) []string {
	x.Helper()
	ids := idsOf(x.search(ix, 1<<20, f))
	slices.Sort(ids)
	return ids
}

// holds requires exactly these records.
func (x *fixture) holds(ix *index, numbers ...int) {
	x.Helper()
	want := make([]string, 0, len(numbers))
	for _, n := range numbers {
		want = append(want, id(n))
	}
	slices.Sort(want)
	if got := x.found(ix, store.Filter{}); !slices.Equal(got, want) {
		x.Errorf("the index holds %q, want %q", got, want)
	}
	if got := x.count(ix); got != len(want) {
		x.Errorf("Count = %d, want %d", got, len(want))
	}
}

func idsOf(hits []store.Hit) []string {
	ids := make([]string, 0, len(hits))
	for _, hit := range hits {
		ids = append(ids, hit.Record.ID)
	}
	return ids
}

// numbers returns [lo, hi).
func numbers(lo, hi int) []int {
	var all []int
	for n := lo; n < hi; n++ {
		all = append(all, n)
	}
	return all
}

// answer returns a record as an index does: without vector, in whole seconds of UTC, without empty
// headings.
func answer(rec store.Record) store.Record {
	rec.Vector = nil
	rec.Time = time.Unix(rec.Time.Unix(), 0).UTC()
	if len(rec.Headings) == 0 {
		rec.Headings = nil
	}
	return rec
}

// same compares an answered record with the stored one.
func (x *fixture) same(where string, got, put store.Record) {
	x.Helper()
	if got.Vector != nil {
		x.Errorf("%s of %s has a vector, want nil", where, got.ID)
	}
	if got.Time.Location() != time.UTC {
		x.Errorf("%s of %s has its time in %v, want UTC", where, got.ID, got.Time.Location())
	}
	require.Equal(x, answer(put), answer(got), where)
}

// cancelled returns a context that has ended.
func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
