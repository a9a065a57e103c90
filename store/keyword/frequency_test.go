package keyword

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

func TestFrequencies(t *testing.T) {
	ix, err := Open(t.Context(), t.TempDir())
	require.NoError(t, err)
	defer ix.Close()
	_, records, err := ix.Frequencies(t.Context(), []string{"ferry"})
	require.NoError(t, err)
	require.Zero(t, records)

	require.NoError(t, ix.Put(t.Context(), []store.Record{
		{ID: "a1", Path: "a.md", Text: "The ferry leaves at eight. Use getCacheStats."},
		{ID: "a2", Path: "a.md", Text: "The ferries are blue.", Headings: []string{"Harbour"}},
		{ID: "b1", Path: "b.md", Text: "The cache listens on port 5433."},
	}))
	require.NoError(t, ix.Commit(t.Context()))
	words := map[string]int{"ferry": 2, "Ferries": 2, "5433": 1, "getCacheStats": 1, "harbour": 1, "zebra": 0, "cache": 2, "zebraCache": 0, "": 0}
	for word, want := range words {
		got, records, err := ix.Frequencies(t.Context(), []string{word})
		require.NoError(t, err)
		require.Equal(t, 3, records)
		require.Equal(t, []int{want}, got, word)
	}
	require.NoError(t, ix.Delete(t.Context(), []string{"b1"}))
	require.NoError(t, ix.Commit(t.Context()))
	got, records, err := ix.Frequencies(t.Context(), []string{"5433", "ferry"})
	require.NoError(t, err)
	require.Equal(t, 2, records)
	require.Equal(t, []int{0, 2}, got)
}
