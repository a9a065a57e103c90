//go:build unix

package safefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func permissions(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

// New files are at most as open as their folder, and only the owner can write to them.
func TestNewFilesArePrivate(t *testing.T) {
	for _, c := range []struct{ umask, around, mode, file, folder fs.FileMode }{
		{0, 0o700, 0o644, 0o600, 0o700},
		{0, 0o755, 0o644, 0o644, 0o755},
		{0, 0o777, 0o644, 0o644, 0o755},
		{0, 0o750, 0o644, 0o640, 0o750},
		{0, 0o755, 0o600, 0o600, 0o700},
		{0o022, 0o755, 0o644, 0o644, 0o755},
		{0o027, 0o755, 0o644, 0o640, 0o750},
		{0o077, 0o755, 0o644, 0o600, 0o700},
	} {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, c.around))
		old := syscall.Umask(int(c.umask))
		err := Replace(dir, filepath.Join("a", "b", "new.md"), []byte("x"), c.mode)
		making := MakeFolder(filepath.Join(dir, "c", "d"), c.mode)
		syscall.Umask(old)
		require.NoError(t, err)
		require.NoError(t, making)
		require.Equal(t, c.file, permissions(t, filepath.Join(dir, "a", "b", "new.md")), "%+v", c)
		for _, folder := range []string{"a", "a/b", "c", "c/d"} {
			require.Equal(t, c.folder, permissions(t, filepath.Join(dir, folder)), "%s %+v", folder, c)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	require.Error(t, MakeFolder(file, 0o600))
	require.Error(t, MakeFolder(filepath.Join(file, "below"), 0o600))
}

// A rewritten file keeps its owner and permissions.
func TestReplaceKeepsOwnerAndMode(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []fs.FileMode{0o400, 0o600, 0o644, 0o664, 0o666, 0o755} {
		write(t, filepath.Join(dir, "old.md"), "before")
		require.NoError(t, os.Chmod(filepath.Join(dir, "old.md"), mode))
		require.NoError(t, Replace(dir, "old.md", []byte("after"), 0o600))
		require.Equal(t, mode, permissions(t, filepath.Join(dir, "old.md")))
		require.NoError(t, os.Remove(filepath.Join(dir, "old.md")))
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	file := filepath.Join(dir, "theirs.md")
	write(t, file, "before")
	require.NoError(t, os.Chown(file, 12345, 23456))
	require.NoError(t, os.Chmod(file, 0o640))
	require.NoError(t, Replace(dir, "theirs.md", []byte("after"), 0o600))
	info, err := os.Stat(file)
	require.NoError(t, err)
	stat := info.Sys().(*syscall.Stat_t)
	require.Equal(t, []uint32{12345, 23456}, []uint32{stat.Uid, stat.Gid})
	require.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		require.False(t, strings.HasPrefix(e.Name(), "."), "%s is left over", e.Name())
	}
}
