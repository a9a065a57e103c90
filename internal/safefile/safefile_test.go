package safefile

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t *testing.T, dir, name string) (string, error) {
	t.Helper()
	file, _, err := Open(dir, filepath.FromSlash(name))
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	require.NoError(t, err)
	return string(data), nil
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func TestOpen(t *testing.T) {
	dir, outside := realDir(t), realDir(t)
	write(t, filepath.Join(dir, "a", "b", "in.md"), "in")
	write(t, filepath.Join(outside, "out.md"), "out")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "away")))
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "inside")))
	require.NoError(t, os.Symlink(filepath.Join("a", "b", "in.md"), filepath.Join(dir, "link.md")))

	got, err := read(t, dir, "a/b/in.md")
	require.NoError(t, err)
	require.Equal(t, "in", got)
	got, err = read(t, dir, "a/./x/../b/in.md")
	require.NoError(t, err)
	require.Equal(t, "in", got)
	for _, name := range []string{"away/out.md", "inside/b/in.md", "link.md"} {
		_, err := read(t, dir, name)
		require.ErrorIs(t, err, ErrLink, name)
	}
	for _, name := range []string{"", ".", "..", "../x", "/etc/passwd", "a", "a/b/in.md/x", "no.md", "a\x00b"} {
		_, err := read(t, dir, name)
		require.Error(t, err, "%q", name)
	}
}

func TestReplace(t *testing.T) {
	dir, outside := realDir(t), realDir(t)
	require.NoError(t, Replace(dir, filepath.Join("new", "x.md"), []byte("one"), 0o600))
	got, err := read(t, dir, "new/x.md")
	require.NoError(t, err)
	require.Equal(t, "one", got)
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Chmod(filepath.Join(dir, "new", "x.md"), 0o640))
	}
	require.NoError(t, Replace(dir, filepath.Join("new", "x.md"), []byte("two"), 0o600))
	info, err := os.Stat(filepath.Join(dir, "new", "x.md"))
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.EqualValues(t, 0o640, info.Mode().Perm())
	}

	write(t, filepath.Join(outside, "out.md"), "out")
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "away")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "out.md"), filepath.Join(dir, "link.md")))
	require.Error(t, Replace(dir, filepath.Join("away", "x.md"), nil, 0o600))
	require.ErrorIs(t, Replace(dir, "link.md", nil, 0o600), ErrLink)
	require.Error(t, Replace(dir, filepath.Join("..", "x.md"), nil, 0o600))
	require.ErrorIs(t, Remove(dir, "link.md"), ErrLink)
	require.Error(t, Remove(dir, filepath.Join("away", "out.md")))
	require.Error(t, Remove(dir, "new"))
	require.ErrorIs(t, Remove(dir, "absent"), os.ErrNotExist)
	require.ErrorContains(t, Remove(dir, "absent"), filepath.Join(dir, "absent"))
	require.NoError(t, Replace(dir, "gone.md", nil, 0o600))
	require.NoError(t, Remove(dir, "gone.md"))
	require.NoFileExists(t, filepath.Join(dir, "gone.md"))
	entries, err := os.ReadDir(filepath.Join(dir, "new"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file stays")
	entries, err = os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// While a folder is swapped for a link out of the root, nothing outside is read.
func TestOpenWhileFoldersAreSwapped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege")
	}
	dir, outside := realDir(t), realDir(t)
	write(t, filepath.Join(dir, "real", "x.md"), "in")
	write(t, filepath.Join(outside, "x.md"), "out")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "secret"), 0o755))
	write(t, filepath.Join(dir, "secret", "x.md"), "secret")
	at, kept := filepath.Join(dir, "at"), filepath.Join(dir, "real")
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if os.Rename(kept, at) == nil {
				os.Rename(at, kept)
			}
			os.Symlink([]string{outside, "secret"}[i%2], at)
			os.Remove(at)
		}
	})
	opened := 0
	for range 4000 {
		if got, err := read(t, dir, "at/x.md"); err == nil {
			opened++
			require.Equal(t, "in", got)
		}
	}
	close(stop)
	swapper.Wait()
	t.Logf("%d of 4000 were read", opened)
}
