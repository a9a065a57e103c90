package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// keywordOnly are the clauses of a store.KeywordIndex.
var keywordOnly = []check{
	{"Match finds the records that share a term", testMatch},
	{"more of the query and rarer terms score higher", testRanking},
	{"a query without a term matches nothing", testNoTerms},
	{"Ceiling bounds every score", testCeiling},
	{"no character is an operator", testOperators},
	{"any text is a query", testAnyQuery},
	{"Scores agree with Match", testScores},
	{"documents are scored as a whole", testDocuments},
}

func texts(all ...string) []store.Record {
	var recs []store.Record
	for n, text := range all {
		recs = append(recs, store.Record{ID: id(n), Path: "notes/a.md", StartLine: n + 1, Text: text})
	}
	return recs
}

func (x *fixture) match(ix *index, query string) store.Matches {
	x.Helper()
	matches, err := ix.words.Match(x.Context(), query, 100, store.Filter{})
	require.NoError(x, err, "Match(%q)", query)
	return matches
}

func (x *fixture) matched(ix *index, query string) []string {
	x.Helper()
	return slices.Sorted(slices.Values(idsOf(x.match(ix, query).Hits)))
}

func testMatch(x *fixture) {
	ix := x.open()
	x.add(ix, texts("postgres listens on 5433", "the cache is warm", "postgres has a cache", "")...)
	for query, want := range map[string][]string{
		"postgres": {id(0), id(2)}, "Cache": {id(1), id(2)}, "postgres cache": {id(0), id(1), id(2)},
		"5433": {id(0)}, "unknownword": nil, "unknownword warm": {id(1)},
	} {
		if got := x.matched(ix, query); !slices.Equal(got, want) {
			x.Errorf("Match(%q) = %q, want %q", query, got, want)
		}
	}
	x.add(ix, store.Record{ID: id(0), Path: "notes/a.md", Text: "redis listens"})
	require.Equal(x, []string{id(2)}, x.matched(ix, "postgres"))
	require.Equal(x, []string{id(0)}, x.matched(ix, "redis"))
}

func testRanking(x *fixture) {
	ix := x.open()
	x.add(ix, texts("zebra quokka", "zebra yak", "zebra heron", "zebra crane", "quokka finch")...)
	if got := idsOf(x.match(ix, "zebra quokka").Hits); got[0] != id(0) || got[1] != id(4) {
		x.Errorf("Match(zebra quokka) = %q, want the record with both first, then that with the rarer", got)
	}
}

func testNoTerms(x *fixture) {
	ix := x.open()
	x.add(ix, texts("some text", "?!", "")...)
	for _, query := range []string{"", " ", "\n\t", "?!", "-", "\"\"", "\x00", "\u200b", "*", "()"} {
		if got := x.match(ix, query); len(got.Hits) != 0 || got.Ceiling != 0 {
			x.Errorf("Match(%q) = %+v, want nothing and a ceiling of 0", query, got)
		}
		scores, err := ix.words.Scores(x.Context(), query, []string{id(0), id(1)})
		require.NoError(x, err)
		require.Equal(x, map[string]store.Score{id(0): {}, id(1): {}}, scores)
	}
}

func testCeiling(x *fixture) {
	ix := x.open()
	x.add(ix, texts("alpha", strings.Repeat("alpha ", 500), "beta gamma", strings.Repeat("alpha beta gamma ", 300), "delta alpha")...)
	for _, query := range []string{"alpha", "alpha alpha alpha", "alpha beta gamma delta", "alpha unknownword", "unknownword"} {
		x.coverage(ix, query)
	}
	for _, query := range []string{"alpha", "alpha beta", "unknownword"} {
		plain, more := x.match(ix, query), x.match(ix, query+" anotherunknown")
		if more.Ceiling <= plain.Ceiling {
			x.Errorf("the ceiling of %q with an unknown word is %v, want more than %v", query, more.Ceiling, plain.Ceiling)
		}
	}
	known, unknown := x.match(ix, "delta"), x.match(ix, "unknownword")
	if unknown.Ceiling < known.Ceiling {
		x.Errorf("the ceiling of a word no record holds is %v, want at least the rarest one's %v", unknown.Ceiling, known.Ceiling)
	}
	limited, err := ix.words.Match(x.Context(), "alpha beta", 1, store.Filter{Path: "nowhere"})
	require.NoError(x, err)
	require.Equal(x, x.match(ix, "alpha beta").Ceiling, limited.Ceiling, "a ceiling depends on k or the filter")
}

// coverage requires that the scores of hits are in (0, ceiling].
func (x *fixture) coverage(ix *index, query string) {
	x.Helper()
	matches := x.match(ix, query)
	for _, hit := range matches.Hits {
		if hit.Score <= 0 || hit.Score > matches.Ceiling {
			x.Errorf("Match(%q): score %v of %s, want it in (0, %v]", query, hit.Score, hit.Record.ID, matches.Ceiling)
		}
	}
	if matches.Ceiling <= 0 {
		x.Errorf("Match(%q): ceiling %v, want more than 0", query, matches.Ceiling)
	}
}

func testOperators(x *fixture) {
	ix := x.open()
	x.add(ix, texts("alphaword here", "betaword there", "alphaword betaword")...)
	both := []string{id(0), id(1), id(2)}
	for _, query := range []string{
		"alphaword -betaword", "+alphaword +betaword", "NOT alphaword betaword", "alphaword AND betaword", "alphaword && betaword",
		"text:alphaword betaword", `"alphaword betaword"`, `"alphaword betaword`, "alphaword^0 betaword", "(alphaword betaword",
		"alphaword) betaword", "alphaword; betaword", "alphaword' OR '1'='1 betaword", "[alphaword TO betaword]", "alphaword>betaword",
		"{alphaword} betaword", `alphaword \ betaword`, "alphaword\x00betaword", "alphaword\nbetaword", "alphaword | betaword",
	} {
		if got := x.matched(ix, query); !slices.Equal(got, both) {
			x.Errorf("Match(%q) = %q, want %q", query, got, both)
		}
	}
	for _, query := range []string{"alphawor*", "alpha*word", "alphawor?", "betawrod~2", "/alpha.*/"} {
		if got := x.matched(ix, query); len(got) != 0 {
			x.Errorf("Match(%q) = %q, want nothing: it is no pattern", query, got)
		}
	}
}

func testAnyQuery(x *fixture) {
	ix := x.open()
	x.add(ix, texts("some text", "naïve 東京 text", "\xff\xfe bytes")...)
	random := rand.New(rand.NewPCG(1, 2))
	queries := append(slices.Clone(oddTexts), oddPaths...)
	for range 200 {
		b := make([]byte, random.IntN(60))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		queries = append(queries, string(b), fmt.Sprintf("%q text", b))
	}
	queries = append(queries, strings.Repeat("x", 1<<20), strings.Repeat("text ", 1<<16), strings.Repeat("東", 1<<16))
	for _, query := range queries {
		matches := x.match(ix, query)
		for _, hit := range matches.Hits {
			if hit.Score > matches.Ceiling {
				x.Errorf("Match(%.60q): score %v above the ceiling %v", query, hit.Score, matches.Ceiling)
			}
		}
	}
}

func testScores(x *fixture) {
	ix := x.open()
	x.add(ix, texts("alpha beta", "beta", "gamma", "alpha alpha beta gamma", "delta")...)
	x.add(ix, store.Record{ID: id(5), Path: "notes/b.md", StartLine: 1, Text: "nothing of the kind"})
	x.add(ix, texts("alpha beta changed")...)
	x.delete(ix, id(1))
	x.commit(ix)
	query := "alpha beta unknownword"
	matches := x.match(ix, query)
	require.Len(x, matches.Hits, 2)
	got, err := ix.words.Scores(x.Context(), query, []string{id(0), id(1), id(2), id(3), id(3), id(4), id(5), id(99), "", "not an id"})
	require.NoError(x, err)
	want := map[string]store.Score{id(3): {}, id(5): {}}
	for _, hit := range matches.Hits {
		want[hit.Record.ID] = store.Score{Record: hit.Score, Document: hit.Document, Held: hit.Held}
	}
	for _, beside := range []string{id(2), id(4)} {
		want[beside] = store.Score{Document: matches.Hits[0].Document}
	}
	require.Equal(x, want, got)
	require.Equal(x, []string{"alpha", "beta", "unknownword"}, words(matches.Terms))
	require.Zero(x, matches.Terms[2].Records)
	for _, hit := range matches.Hits {
		require.Equal(x, store.Held{Itself: 0b011, Nearby: 0b011}, hit.Held, "both words that there are")
	}
	none, err := ix.words.Scores(x.Context(), query, nil)
	require.NoError(x, err)
	require.Empty(x, none)
}

func words(terms []store.Term) (all []string) {
	for _, t := range terms {
		all = append(all, t.Word)
	}
	return all
}

// A document is scored as one text.
func testDocuments(x *fixture) {
	ix := x.open()
	record := func(n int, path, text string) store.Record {
		return store.Record{ID: id(n), Path: path, StartLine: n + 1, Text: text}
	}
	x.add(ix,
		record(0, "a.md", "alpha is here"), record(1, "a.md", "and beta is there"),
		record(2, "b.md", "alpha is here"), record(3, "b.md", "and nothing is there"),
		record(4, "c.md", "none of them"))
	scores := func() map[string]store.Score {
		got, err := ix.words.Scores(x.Context(), "alpha beta", []string{id(0), id(1), id(2), id(3), id(4)})
		require.NoError(x, err)
		return got
	}
	got := scores()
	if got[id(0)].Document <= got[id(2)].Document || got[id(2)].Document <= 0 {
		x.Errorf("document with both words scores %v, that with one %v, want more and above 0", got[id(0)].Document, got[id(2)].Document)
	}
	require.Equal(x, got[id(0)].Document, got[id(1)].Document)
	require.Equal(x, store.Score{Document: got[id(2)].Document}, got[id(3)])
	require.Zero(x, got[id(4)])
	matches := x.match(ix, "alpha beta")
	require.Equal(x, got[id(0)].Document, matches.BestDocument)
	only, err := ix.words.Match(x.Context(), "alpha beta", 10, store.Filter{Path: "b.md"})
	require.NoError(x, err)
	require.Equal(x, got[id(2)].Document, only.BestDocument, "best of what passes the filter")

	x.delete(ix, id(1))
	x.commit(ix)
	after := scores()
	if after[id(0)].Document >= got[id(0)].Document {
		x.Errorf("without the record with beta the document scores %v, want less than %v", after[id(0)].Document, got[id(0)].Document)
	}
}
