package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

func testEmpty(x *fixture) {
	ix := x.open()
	x.holds(ix)
	if recs := x.document(ix, "notes/a.md"); len(recs) != 0 {
		x.Errorf("Document of an empty index = %v, want none", recs)
	}
	stats, err := ix.Stats(x.Context())
	require.NoError(x, err)
	if stats.Records != 0 || stats.Deleted != 0 || stats.Engine == "" {
		x.Errorf("Stats of an empty index = %+v, want an engine and no records", stats)
	}
	got, err := ix.scores(x.Context(), []string{id(1)})
	require.NoError(x, err)
	require.Empty(x, got)
	require.NoError(x, ix.Check(x.Context()))
	ix.Discard()
	x.commit(ix)
	x.holds(ix)
}

// oddTexts are texts that a careless store changes.
var oddTexts = []string{
	"", " ", "\n", "two\nlines\r\nand\ttabs", `it's "quoted"; DROP TABLE records; -- \`, "100 % of _ and ?",
	"naïve Zürich 東京 🚀 e\u0301", "zero\x00byte and \xff\xfe not UTF-8", "\u202eright to left\u202c \ufeff",
	`{"json": ["a", null]}`, "</memory>", strings.Repeat("long text of a hundred kilobytes ", 3200),
}

func testFields(x *fixture) {
	ix := x.open()
	var put []store.Record
	for i, text := range oddTexts {
		put = append(put, x.kind.dress(store.Record{
			ID: strings.Repeat(fmt.Sprintf("%x", i%16), i*5+1), Scope: "global", Kind: "conversation",
			Path: "~/sessions/it's \"1\"; ü.jsonl", StartLine: i + 1, EndLine: i + 7,
			Headings: [][]string{nil, {"One"}, {"A", "", "ü; '\"\n"}}[i%3], Session: text[:min(50, len(text))], Speaker: "Zoë 'Z'",
			Time: time.Date(1960+i*11, 2, 3, 4, 5, 6, 999_999_999, time.FixedZone("east", 5*3600)),
			Text: text, Before: text, After: "a" + text, Hash: fmt.Sprintf("%064x", i), Tokens: i * 1000,
		}))
	}
	put = append(put, x.kind.dress(store.Record{ID: "f", Path: put[0].Path, StartLine: 1000}))
	x.add(ix, put...)
	for _, ix := range []*index{ix, x.open()} {
		x.sameRecords(ix, put)
	}
}

// sameRecords compares answers with the records of a document.
func (x *fixture) sameRecords(ix *index, put []store.Record) {
	x.Helper()
	x.sameDocument(ix, put[0].Path, put...)
	hits := x.search(ix, len(put), store.Filter{})
	require.Len(x, hits, len(put))
	for _, hit := range hits {
		i := slices.IndexFunc(put, func(rec store.Record) bool { return rec.ID == hit.Record.ID })
		require.NotEqual(x, -1, i)
		x.same("hit", hit.Record, put[i])
	}
}

// sameDocument compares a document with its records.
func (x *fixture) sameDocument(ix *index, path string, put ...store.Record) {
	x.Helper()
	recs := x.document(ix, path)
	require.Len(x, recs, len(put), path)
	for i := range put {
		x.same("Document", recs[i], put[i])
	}
}

func testEmptyBatch(x *fixture) {
	ix := x.open()
	x.add(ix, x.records(0, 2)...)
	before := modTimes(x, x.dir)
	for range 3 {
		x.commit(ix)
	}
	x.holds(ix, 0, 1)
	require.Equal(x, before, modTimes(x, x.dir), "files of the index before and after empty commits")
}

func testFailedCommit(x *fixture) {
	ix := x.open()
	x.add(ix, x.records(0, 2)...)
	x.put(ix, x.records(2, 4)...)
	x.delete(ix, id(0))
	require.Error(x, ix.Commit(cancelled()))
	x.holds(ix, 0, 1)
	x.commit(ix)
	x.holds(ix, 0, 1)
	x.add(ix, x.record(7, "notes/a.md"))
	x.holds(ix, 0, 1, 7)
}

func testBadIDs(x *fixture) {
	ix := x.open()
	for _, bad := range []string{"", "ABC", "xyz", "1 2", "a\n", "'", "é", "0x1f", "../1", strings.Repeat("a", 65)} {
		rec := x.record(1, "notes/a.md")
		rec.ID = bad
		if err := ix.Put(x.Context(), []store.Record{rec}); err == nil {
			x.Errorf("Put of a record with ID %q: no error", bad)
		}
		x.delete(ix, bad) // unknown, so no error
		ix.Discard()
	}
	for n, good := range []string{"0", "a", "00", strings.Repeat("f", 63), strings.Repeat("0", 64), "0a", "a0"} {
		rec := x.record(n, "notes/a.md")
		rec.ID = good
		x.put(ix, rec)
	}
	x.commit(ix)
	want := []string{"0", "00", strings.Repeat("0", 64), "0a", "a", "a0", strings.Repeat("f", 63)}
	require.Equal(x, want, x.found(ix, store.Filter{}))
}

func testRecordsNotKept(x *fixture) {
	ix := x.open()
	rec := x.kind.dress(store.Record{ID: id(1), Path: "notes/a.md", Headings: []string{"Kept"}, Text: "kept"})
	alone := x.openIn(x.TempDir())
	x.add(alone, rec)
	score := x.search(alone, 1, store.Filter{})[0].Score
	recs := []store.Record{rec}
	x.put(ix, recs...)
	recs[0].Headings[0] = "changed"
	for i := range recs[0].Vector {
		recs[0].Vector[i] = -recs[0].Vector[i]
	}
	recs[0] = store.Record{}
	x.commit(ix)
	hits := x.search(ix, 1, store.Filter{})
	require.Len(x, hits, 1)
	require.Equal(x, []string{"Kept"}, hits[0].Record.Headings)
	require.InDelta(x, score, hits[0].Score, 1e-5)
}

func testAnswersOwned(x *fixture) {
	ix := x.open()
	rec := x.kind.dress(store.Record{ID: id(1), Path: "notes/a.md", Headings: []string{"A", "B"}, Text: "text"})
	x.add(ix, rec)
	for range 2 {
		hits := x.search(ix, 1, store.Filter{})
		recs := x.document(ix, "notes/a.md")
		scores, err := ix.scores(x.Context(), []string{id(1)})
		require.NoError(x, err)
		x.same("hit", hits[0].Record, rec)
		x.same("Document", recs[0], rec)
		require.Equal(x, hits[0].Score, scores[id(1)])
		hits[0].Record.Headings[0], recs[0].Headings[1], scores[id(1)] = "changed", "changed", -5
		hits[0], recs[0] = store.Hit{}, store.Record{}
		_ = append(hits, store.Hit{})
	}
}
