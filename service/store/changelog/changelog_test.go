//go:build lancedb

package changelog

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/store"
	"github.com/memcore/memcore/service/store/objects"
	"github.com/memcore/memcore/service/store/storetest"
)

func TestIsAChangelog(t *testing.T) {
	dir := t.TempDir()
	all, err := objects.Open(objects.Place{URI: dir})
	require.NoError(t, err)
	for name, at := range map[string]store.Objects{"alone": nil, "objects": all} {
		t.Run(name, func(t *testing.T) {
			storetest.TestChangelog(t, func(t *testing.T, log string) store.Changelog {
				return Open(filepath.Join(dir, name, log), at, filepath.Join(name, log))
			})
		})
	}
}

// A reader with the newest mark does not open the table, until something is written or its mark is
// old.
func TestNewestMark(t *testing.T) {
	dir := t.TempDir()
	all, err := objects.Open(objects.Place{URI: dir})
	require.NoError(t, err)
	reader, writer := Open(filepath.Join(dir, "log"), all, "log"), Open(filepath.Join(dir, "log"), nil, "")
	_, mark, err := writer.Append(t.Context(), []store.Revision{{Path: "a.md", Text: "1"}}, store.Mark{})
	require.NoError(t, err)
	since, read, err := reader.Since(t.Context(), store.Mark{})
	require.NoError(t, err)
	require.Len(t, since, 1)
	require.Equal(t, mark, read)
	require.True(t, reader.isNewest(t.Context(), read))
	require.False(t, writer.isNewest(t.Context(), read), "without objects")

	_, mark, err = writer.Append(t.Context(), []store.Revision{{Path: "a.md", Text: "2"}}, mark)
	require.NoError(t, err)
	require.False(t, reader.isNewest(t.Context(), read))
	since, read, err = reader.Since(t.Context(), read)
	require.NoError(t, err)
	require.Equal(t, mark, read)
	require.Equal(t, "2", since[0].Text)
	require.True(t, reader.isNewest(t.Context(), read))
	reader.tipAt = reader.tipAt.Add(-2 * tipAge)
	require.False(t, reader.isNewest(t.Context(), read), "versions may have been removed since")

	reader.tipAt = reader.tipAt.Add(2 * tipAge)
	require.NoError(t, writer.Drop(t.Context()))
	_, _, err = reader.Since(t.Context(), read)
	require.ErrorIs(t, err, store.ErrGone)
}
