package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

func testDocumentOrder(x *fixture) {
	ix := x.open()
	var recs []store.Record
	for i, n := range []int{7, 2, 9, 1, 8, 3} {
		rec := x.record(n, "notes/a.md")
		rec.StartLine = []int{10, 2, 2, 100, 2, 1}[i]
		recs = append(recs, rec)
	}
	x.put(ix, recs[:3]...)
	x.put(ix, x.record(20, "notes/a.md.bak"), x.record(21, "notes"), x.record(22, "otes/a.md"))
	x.commit(ix)
	x.add(ix, recs[3:]...)
	var got []string
	for _, rec := range x.document(ix, "notes/a.md") {
		got = append(got, rec.ID)
	}
	require.Equal(x, []string{id(3), id(2), id(8), id(9), id(7), id(1)}, got)
	for _, unknown := range []string{"", "a.md", "notes/", "NOTES/A.MD", "notes/a.m%", "'"} {
		if recs := x.document(ix, unknown); len(recs) != 0 {
			x.Errorf("Document(%q) = %v, want none", unknown, recs)
		}
	}
}

// ties have few different texts, so many equal scores.
func ties(k kind, n int) []store.Record {
	var recs []store.Record
	for i := range n {
		recs = append(recs, k.dress(store.Record{
			ID: id(i * 7919 % 100_003), Path: "notes/a.md", Text: strings.Repeat("word ", i%4) + "end",
		}))
	}
	return recs
}

func testHitOrder(x *fixture) {
	ix := x.open()
	recs := ties(x.kind, 60)
	for some := range slices.Chunk(recs, 13) {
		x.add(ix, some...)
	}
	all := x.search(ix, 100, store.Filter{})
	require.Len(x, all, 60)
	if !slices.IsSortedFunc(all, compareHits) {
		x.Errorf("hits are %v, want best first and equal scores by ID", brief(all))
	}
	scores := map[float64]bool{}
	for _, hit := range all {
		scores[hit.Score] = true
	}
	if len(scores) != 4 {
		x.Errorf("%d texts have %d scores: %v", 4, len(scores), brief(all))
	}
	for _, k := range append(numbers(-1, 62), math.MinInt) {
		want := brief(all[:min(max(k, 0), len(all))])
		if got := x.search(ix, k, store.Filter{}); !slices.Equal(brief(got), want) {
			x.Fatalf("the best %d hits are %v, want %v", k, brief(got), want)
		}
	}
	// An engine may score all records in another way than the best few, so that equal texts differ
	// in the last digit; it must give them all.
	for _, k := range []int{math.MaxInt - 1, math.MaxInt} {
		if got := len(x.search(ix, k, store.Filter{})); got != len(all) {
			x.Errorf("a search for the best %d of %d has %d hits", k, len(all), got)
		}
	}
}

func compareHits(a, b store.Hit) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Record.ID, b.Record.ID))
}

// brief prints hits as ID and score.
func brief(hits []store.Hit) []string {
	var all []string
	for _, hit := range hits {
		all = append(all, fmt.Sprintf("%s:%g", hit.Record.ID, hit.Score))
	}
	return all
}

func testFilter(x *fixture) {
	ix := x.open()
	for n, rec := range []store.Record{
		{Scope: "project", Kind: "markdown", Path: "notes/a.md"},
		{Scope: "project", Kind: "markdown", Path: "notes/deep/b.md"},
		{Scope: "global", Kind: "markdown", Path: "notes2/c.md"},
		{Scope: "global", Kind: "conversation", Path: "~/.ai/log.jsonl"},
		{Scope: "project", Kind: "conversation", Path: "/abs/notes/a.md"},
		{Scope: "global", Kind: "markdown", Path: "notes.md"},
		{Scope: "global", Kind: "markdown", Path: "notes"},
	} {
		rec.ID, rec.Text = id(n), "text"
		x.add(ix, x.kind.dress(rec))
	}
	for _, tt := range []struct {
		f    store.Filter
		want []int
	}{
		{store.Filter{}, numbers(0, 7)},
		{store.Filter{Scope: "project"}, []int{0, 1, 4}},
		{store.Filter{Scope: "Project"}, nil},
		{store.Filter{Scope: "nowhere"}, nil},
		{store.Filter{Kind: "conversation"}, []int{3, 4}},
		{store.Filter{NotKind: "markdown"}, []int{3, 4}},
		{store.Filter{NotKind: "conversation", Scope: "project"}, []int{0, 1}},
		{store.Filter{NotKind: "absent"}, []int{0, 1, 2, 3, 4, 5, 6}},
		{store.Filter{Scope: "global", Kind: "markdown"}, []int{2, 5, 6}},
		{store.Filter{Path: "notes"}, []int{0, 1, 6}}, // a document and a folder
		{store.Filter{Path: "notes/deep"}, []int{1}},
		{store.Filter{Path: "notes/a.md"}, []int{0}},
		{store.Filter{Path: "notes2"}, []int{2}},
		{store.Filter{Path: "note"}, nil},
		{store.Filter{Path: "a.md"}, nil},
		{store.Filter{Path: "deep"}, nil},
		{store.Filter{Path: "~/.ai"}, []int{3}},
		{store.Filter{Path: "/abs"}, []int{4}},
		{store.Filter{Path: "notes", Scope: "project", Kind: "markdown", Not: []string{"notes/a.md"}}, []int{1}},
		{store.Filter{Not: []string{"notes/a.md", "notes.md", "unknown"}}, []int{1, 2, 3, 4, 6}},
		{store.Filter{Not: []string{"notes"}}, numbers(0, 6)}, // documents only, not folders
		{store.Filter{Not: []string{}}, numbers(0, 7)},
		{store.Filter{Not: []string{""}}, numbers(0, 7)},
	} {
		var want []string
		for _, n := range tt.want {
			want = append(want, id(n))
		}
		if got := x.found(ix, tt.f); !slices.Equal(got, want) {
			x.Errorf("a search with %+v finds %q, want %q", tt.f, got, want)
		}
		if got := len(x.search(ix, 1, tt.f)); got != min(1, len(want)) {
			x.Errorf("the best hit with %+v is %d, want %d", tt.f, got, min(1, len(want)))
		}
	}
}

func testTimes(x *fixture) {
	ix := x.open()
	at := func(text string) time.Time {
		t, err := time.Parse(time.RFC3339, text)
		require.NoError(x, err)
		return t
	}
	for n, said := range []time.Time{
		{}, at("1970-01-01T00:00:01Z"), at("2026-11-16T23:59:59Z"), at("2026-11-17T00:00:00Z"), at("2026-11-17T12:30:15Z"),
		at("2026-11-17T23:59:59Z"), at("2026-11-18T00:00:00Z"), at("2027-06-01T08:00:00Z"), at("9999-12-31T23:59:59Z"),
	} {
		rec := x.record(n, fmt.Sprintf("notes/%d.md", n%2))
		rec.Time = said
		x.add(ix, rec)
	}
	for _, tt := range []struct {
		f    store.Filter
		want []int
	}{
		{store.Filter{Since: at("2026-11-17T00:00:00Z")}, numbers(3, 9)},
		{store.Filter{Since: at("2026-11-17T01:00:00+01:00")}, numbers(3, 9)},
		{store.Filter{Since: at("2026-11-17T00:00:00.5Z")}, numbers(4, 9)},
		{store.Filter{Until: at("2026-11-17T00:00:00Z")}, []int{1, 2}},
		{store.Filter{Until: at("2026-11-17T00:00:00.5Z")}, []int{1, 2, 3}},
		{store.Filter{Since: at("2026-11-17T00:00:00Z"), Until: at("2026-11-18T00:00:00Z")}, []int{3, 4, 5}},
		{store.Filter{Since: at("2026-11-17T12:30:15Z"), Until: at("2026-11-17T12:30:16Z")}, []int{4}},
		{store.Filter{Since: at("2026-11-17T12:30:15Z"), Until: at("2026-11-17T12:30:15Z")}, nil},
		{store.Filter{Since: at("2026-11-18T00:00:00Z"), Until: at("2026-11-17T00:00:00Z")}, nil},
		{store.Filter{Since: at("2026-11-10T00:00:00Z"), Until: at("2027-12-01T00:00:00Z"), Path: "notes/1.md"}, []int{3, 5, 7}},
		{store.Filter{Since: at("2026-11-10T00:00:00Z"), Not: []string{"notes/1.md"}, Until: at("2027-12-01T00:00:00Z")}, []int{2, 4, 6}},
		{store.Filter{Since: at("1960-01-01T00:00:00Z")}, numbers(1, 9)},
		{store.Filter{Since: at("2050-01-01T00:00:00Z"), Until: at("2060-01-01T00:00:00Z")}, nil},
	} {
		var want []string
		for _, n := range tt.want {
			want = append(want, id(n))
		}
		if got := x.found(ix, tt.f); !slices.Equal(got, want) {
			x.Errorf("a search from %v to %v finds %q, want %q", tt.f.Since, tt.f.Until, got, want)
		}
		if got := len(x.search(ix, 1, tt.f)); got != min(1, len(want)) {
			x.Errorf("the best hit from %v to %v is %d, want %d", tt.f.Since, tt.f.Until, got, min(1, len(want)))
		}
	}
	moved := x.record(4, "notes/0.md")
	moved.Time = at("2026-11-18T00:00:00Z")
	x.add(ix, moved)
	if got := x.found(ix, store.Filter{Since: at("2026-11-17T00:00:00Z"), Until: at("2026-11-18T00:00:00Z")}); !slices.Equal(got, []string{id(3), id(5)}) {
		x.Errorf("after a record has got a later time, its day has %q", got)
	}
}

// oddPaths have a meaning in queries, patterns or other file systems.
var oddPaths = []string{
	"100%/x.md", "100_/x.md", "100a/x.md", "it's/x.md", `it"s/x.md`, "it`s/x.md", `back\slash/x.md`, "semi;colon/x.md", "a b/x.md",
	"*/x.md", "?/x.md", "[a]/x.md", "(a|b)/x.md", "ü/x.md", "u\u0308/x.md", "東京/x.md", "../x.md", "./x.md", "new\nline/x.md",
	"A/x.md", "a/x.md", "' OR '1'='1/x.md", "--/x.md", "null/x.md", "NaN/x.md", "zero\x00/x.md", "\xff/x.md", "C:/x.md",
}

func testOddPaths(x *fixture) {
	ix := x.open()
	for n, path := range oddPaths {
		x.put(ix, x.record(n, path))
	}
	x.commit(ix)
	for n, path := range oddPaths {
		folder := strings.TrimSuffix(path, "/x.md")
		want := []string{id(n)}
		if got := x.found(ix, store.Filter{Path: path}); !slices.Equal(got, want) {
			x.Errorf("a search in document %q finds %q, want %q", path, got, want)
		}
		if got := x.found(ix, store.Filter{Path: folder}); !slices.Contains(got, id(n)) || len(got) != len(within(folder)) {
			x.Errorf("a search in folder %q finds %q, want %q", folder, got, within(folder))
		}
		if got := x.found(ix, store.Filter{Not: []string{path}}); len(got) != len(oddPaths)-1 || slices.Contains(got, id(n)) {
			x.Errorf("a search without %q finds %q, want all others", path, got)
		}
		if got := x.document(ix, path); len(got) != 1 || got[0].ID != id(n) || got[0].Path != path {
			x.Errorf("Document(%q) = %+v, want %s", path, got, id(n))
		}
		if got := x.found(ix, store.Filter{Scope: path, Kind: path}); len(got) != 0 {
			x.Errorf("a search in scope %q finds %q, want nothing", path, got)
		}
	}
}

// within returns the odd paths in a folder.
func within(folder string) []string {
	return slices.DeleteFunc(slices.Clone(oddPaths), func(path string) bool { return !strings.HasPrefix(path, folder+"/") })
}

func testCounts(x *fixture) {
	ix := x.open()
	x.add(ix, x.records(0, 50)...)
	x.delete(ix, id(1), id(2))
	x.add(ix, x.records(45, 55)...)
	stats, err := ix.Stats(x.Context())
	require.NoError(x, err)
	if n := x.count(ix); n != 53 || stats.Records != n {
		x.Errorf("Count = %d, Stats = %+v, want 53 records", n, stats)
	}
	if stats.Engine == "" || stats.Bytes <= 0 || stats.Fragments < 1 || stats.Deleted < 0 || stats.Deleted > 7 {
		x.Errorf("Stats = %+v, want an engine, bytes, fragments, and at most 7 dead rows", stats)
	}
}
