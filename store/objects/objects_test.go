package objects

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

func TestFolder(t *testing.T) { testObjects(t, Place{URI: filepath.Join(t.TempDir(), "storage")}) }

func testObjects(t *testing.T, at Place) {
	var all store.Objects
	all, err := Open(at)
	require.NoError(t, err)
	_, err = all.Get(t.Context(), "a/b")
	require.ErrorIs(t, err, fs.ErrNotExist)
	for name, text := range map[string]string{"a/b": "one", "a/c/d": "two", "ab/c": "three"} {
		require.NoError(t, all.Put(t.Context(), name, []byte("before")))
		require.NoError(t, all.Put(t.Context(), name, []byte(text)))
		data, err := all.Get(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
	left, err := all.RemoveAll(t.Context(), "a")
	require.NoError(t, err)
	require.Zero(t, left)
	_, err = all.Get(t.Context(), "a/c/d")
	require.ErrorIs(t, err, fs.ErrNotExist)
	data, err := all.Get(t.Context(), "ab/c")
	require.NoError(t, err)
	require.Equal(t, "three", string(data))
}

func TestPlacesThatAreNone(t *testing.T) {
	for _, at := range []Place{{URI: "gs://bucket"}, {URI: "s3://"}, {URI: "s3://bucket", Endpoint: "storage:9000"}} {
		_, err := Open(at)
		require.Error(t, err, "%+v", at)
	}
}
