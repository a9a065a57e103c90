package storetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// opened returns an index of five records, to be damaged.
func (x *fixture) opened() (ix *index, dir string) {
	x.Helper()
	dir = filepath.Join(x.TempDir(), "index")
	ix = x.openIn(dir)
	x.add(ix, x.records(0, 5)...)
	x.holds(ix, numbers(0, 5)...)
	return ix, dir
}

// current is the folder of the current generation.
func (x *fixture) current(dir string) string {
	x.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "CURRENT"))
	require.NoError(x, err)
	return filepath.Join(dir, strings.Fields(string(text))[0])
}

// A reader continues with open files, or fails, but never looks empty.
func testRemoved(x *fixture) {
	ix, dir := x.opened()
	if os.RemoveAll(dir) != nil {
		return // some systems cannot remove open files
	}
	if hits, err := ix.search(x.Context(), 10, store.Filter{}); err == nil && len(hits) != 5 {
		x.Errorf("a search in a removed index has %d hits, want all 5 or an error", len(hits))
	}
	x.put(ix, x.record(7, "notes/a.md"))
	require.Error(x, ix.Commit(x.Context()))
}

func testLost(x *fixture) {
	ix, dir := x.opened()
	require.NoError(x, os.Remove(filepath.Join(x.current(dir), store.ManifestFile)))
	require.ErrorIs(x, second(ix.Count(x.Context())), store.ErrCorrupt)
	ix, dir = x.opened()
	require.NoError(x, os.Remove(filepath.Join(dir, "CURRENT")))
	require.ErrorIs(x, second(ix.Count(x.Context())), store.ErrCorrupt)
	require.ErrorIs(x, second(ix.search(x.Context(), 10, store.Filter{})), store.ErrCorrupt)
}

func testOtherRelease(x *fixture) {
	for number, want := range map[int]error{1: store.ErrFormat, 9999: store.ErrNewer} {
		ix, dir := x.opened()
		folder := x.current(dir)
		file := filepath.Join(folder, store.ManifestFile)
		text, err := os.ReadFile(file)
		require.NoError(x, err)
		var frame struct{ Kind string }
		require.NoError(x, json.Unmarshal(text, &frame))
		text, err = store.ManifestFormat{Kind: frame.Kind, Number: number}.Encode(folder, "of another form")
		require.NoError(x, err)
		require.NoError(x, os.WriteFile(file, text, 0o600))
		require.ErrorIs(x, second(ix.Count(x.Context())), want)
		x.put(ix, x.record(7, "notes/a.md"))
		require.ErrorIs(x, ix.Commit(x.Context()), want)
	}
}
