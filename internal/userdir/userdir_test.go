//go:build unix

package userdir

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFolders(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	permissions := func(dir string) fs.FileMode {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		return info.Mode().Perm()
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	note, err := Keep(dir)
	require.NoError(t, err)
	require.Empty(t, note)
	require.NoDirExists(t, dir)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	for _, mode := range []fs.FileMode{0o777, 0o755, 0o770, 0o701} {
		require.NoError(t, os.Chmod(dir, mode))
		note, err = Keep(dir)
		require.NoError(t, err)
		require.Contains(t, note, "was open to other users")
		require.Equal(t, fs.FileMode(0o700), permissions(dir))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, err = Keep(filepath.Join(dir, "file"))
	require.ErrorContains(t, err, "not a folder")
	if os.Geteuid() != 0 {
		return // only root can give a folder away
	}
	require.NoError(t, os.Chown(dir, 12345, 12345))
	_, err = Keep(dir)
	require.ErrorIs(t, err, ErrForeign)
	require.ErrorContains(t, err, dir)
}
