package tenants

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSnapshotOfAnIndex(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "cache", "data")
	files := map[string]string{"1/manifest.json": "m", "1/keywords/CURRENT": "5", "1/keywords/5/a.zap": "words", "CURRENT": "1"}
	for name, text := range files {
		file := filepath.Join(from, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(from, "LOCK"), nil, 0o600))
	data, err := pack(from)
	require.NoError(t, err)
	require.NoError(t, unpack(data, to))
	for name, text := range files {
		found, err := os.ReadFile(filepath.Join(to, filepath.FromSlash(name)))
		require.NoError(t, err)
		require.Equal(t, text, string(found))
	}
	_, err = os.Stat(filepath.Join(to, "LOCK"))
	require.ErrorIs(t, err, os.ErrNotExist)

	elsewhere := filepath.Join(t.TempDir(), "data")
	require.Error(t, unpack(data[:len(data)/2], elsewhere), "cut off")
	_, err = os.Stat(elsewhere)
	require.ErrorIs(t, err, os.ErrNotExist, "no half of an index")
}
