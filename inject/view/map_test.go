package view

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
)

// A fakeMap is a memory with a map.
type fakeMap struct {
	fakeMemory
	m     httpapi.Map
	pairs []httpapi.Pair
	err   error
}

func (f fakeMap) Map(_ context.Context, r httpapi.MapRequest) (httpapi.Map, error) {
	if r.Known != "" && r.Known == f.m.Stamp {
		f.m.X, f.m.Y, f.m.Documents = "", "", nil
	}
	return f.m, f.err
}

func (f fakeMap) Pairs(context.Context) (httpapi.Pairs, error) {
	return httpapi.Pairs{State: f.m.State, Pairs: f.pairs}, f.err
}

func (f fakeMap) Document(_ context.Context, r httpapi.DocumentRequest) (httpapi.Document, error) {
	return httpapi.Document{Path: r.Path, Chunks: []core.MemoryHit{{Text: fmt.Sprint(r.Line, strings.Repeat("é", mostText), hostile), Source: hostile, StartLine: r.Line, Time: time.Now()}}}, nil
}

type fakeMaps struct{ fakeMap }

func (f fakeMaps) Use(_ context.Context, _ string, do func(httpapi.Workspace) error) error {
	return do(f.fakeMap)
}

func (fakeMaps) Listen() (<-chan httpapi.Event, func()) { return nil, func() {} }

// of opens a visitor's own pages of a map, and returns a page's body.
func (f fakeMap) page(t *testing.T, path string) (int, string) {
	t.Helper()
	v := newVisitor(t)
	v.pages = New(fakeMaps{f}, "v1")
	server := httptest.NewServer(v.pages.Handler())
	t.Cleanup(server.Close)
	v.server = server
	v.open(t, "/a")
	return v.get(t, "/w/"+idOf("/a")+"/"+path)
}

// points returns a map of n points in documents with hostile names.
func points(n int) httpapi.Map {
	numbers := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00\x80", n)))
	return httpapi.Map{State: httpapi.MapReady, Stamp: "s", Points: n, Chunks: n, X: numbers, Y: numbers, Sources: []string{hostile},
		Documents: []httpapi.MapDocument{{Path: hostile, Points: n / 2}, {Path: "b", Points: n - n/2, Source: 9}}}
}

func TestMapReadsWithoutScript(t *testing.T) {
	side := httpapi.PairSide{Path: hostile, Line: 3, Source: hostile, Text: hostile}
	f := fakeMap{m: points(100_000), pairs: []httpapi.Pair{{Kind: httpapi.PairDuplicate, Cosine: .97, First: side, Second: side}, {Kind: httpapi.PairCorrection, First: side}}}
	status, body := f.page(t, "map")
	require.Equal(t, 200, status)
	require.LessOrEqual(t, strings.Count(body, `<circle class="group`), mostDots)
	require.Greater(t, strings.Count(body, `<circle class="group`), mostDots/2)
	require.Less(t, len(body), 300_000)
	require.Contains(t, body, `cx="500" cy="500"`)
	require.Contains(t, body, `class="group1"`, "the second document's source is another")
	require.Contains(t, body, "Nearly the same: 0.970")
	require.Contains(t, body, "A correction waits")
	require.Contains(t, body, `href="document?path=%3cscript%3e`)
	for _, never := range []string{"<script>", "<img", `" onmouseover`, "javascript:alert(4)\"", "\u202e", "\u200b", "\x1b"} {
		require.NotContains(t, body, never)
	}
}

func TestMapSaysItsState(t *testing.T) {
	for text, m := range map[string]httpapi.Map{
		"run <code>memcore index</code>":                            {State: httpapi.MapNoIndex},
		"knows words, but no meanings":                              {State: httpapi.MapNoVectors, Chunks: 3},
		"The map is being computed: 40 %.":                          {State: httpapi.MapComputing, Progress: 40},
		"2 chunks. The map is being computed: 4 %. This is a first": {State: httpapi.MapComputing, Progress: 4, Rough: true, Points: 2, Chunks: 2},
		"2 chunks. A newer map is being computed":                   {State: httpapi.MapComputing, Points: 2, Chunks: 2},
		"1 of 9 chunks.":                                            {State: httpapi.MapReady, Points: 1, Chunks: 9},
		"2 chunks, as of 20":                                        {State: httpapi.MapReady, Points: 2, Chunks: 2, Made: time.Now()},
	} {
		status, body := fakeMap{m: m}.page(t, "map")
		require.Equal(t, 200, status)
		require.Contains(t, body, text)
	}
}

func TestMapDataAndText(t *testing.T) {
	f := fakeMap{m: points(10)}
	var m httpapi.Map
	_, body := f.page(t, "map-data")
	require.NoError(t, json.Unmarshal([]byte(body), &m))
	require.Equal(t, f.m, m)
	_, body = f.page(t, "map-data?known=s")
	require.Contains(t, body, `"points":10`)
	require.NotContains(t, body, `"x"`, "the script has the points")

	var said map[string]string
	_, body = f.page(t, "map-text?path=a&line=7")
	require.NoError(t, json.Unmarshal([]byte(body), &said))
	require.True(t, strings.HasPrefix(said["text"], "7é"))
	require.LessOrEqual(t, len(said["text"]), mostText+3)
	require.NotContains(t, body, "\u202e")
	for _, line := range []string{"", "x", "-3", "99999999999999999999"} {
		status, _ := f.page(t, "map-text?path=a&line="+line)
		require.Equal(t, 200, status)
	}
	for _, page := range []string{"map", "map-data"} {
		status, body := fakeMap{err: fmt.Errorf("%s", hostile)}.page(t, page)
		require.Equal(t, 500, status)
		require.NotContains(t, body, "<script>")
	}
}

// Numbers that do not fit give no picture, and no panic.
func TestDotsOfOddMaps(t *testing.T) {
	for _, m := range []httpapi.Map{{}, {Points: 3}, {Points: 3, X: "?"}, {Points: 3, X: "AAAA", Y: "A"}, {Points: 1, X: "AAA=", Y: "AAA="}} {
		require.LessOrEqual(t, len(dotsOf(m)), 1)
	}
}
