package safefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// The next writer removes temporary files of killed processes, but not those being written.
func TestRemainsAreTidied(t *testing.T) {
	dir := realDir(t)
	write(t, filepath.Join(dir, unfinished+"OLD"), "half")
	write(t, filepath.Join(dir, unfinished+"NEW"), "hal")
	write(t, filepath.Join(dir, ".hidden"), "mine")
	old := time.Now().Add(-2 * Abandoned)
	require.NoError(t, os.Chtimes(filepath.Join(dir, unfinished+"OLD"), old, old))
	require.NoError(t, os.Chtimes(filepath.Join(dir, ".hidden"), old, old))
	require.NoError(t, Replace(dir, "a.md", []byte("whole"), 0o600))
	require.Equal(t, []string{".hidden", unfinished + "NEW", "a.md"}, namesIn(t, dir))
	Tidy(dir, "a.md", 0)
	require.Equal(t, []string{".hidden", "a.md"}, namesIn(t, dir))
}

// Tidy does not disturb a writer of another file.
func TestTidiedWhileWriting(t *testing.T) {
	dir := realDir(t)
	tries := 0
	require.NoError(t, put(dir, ".gitignore", []byte("mine"), 0o600, false, func(folder *os.Root, temporary, base string) error {
		if tries++; tries == 1 {
			Tidy(dir, "a.md", 0)
		}
		return folder.Rename(temporary, base)
	}))
	require.Equal(t, 2, tries)
	require.Equal(t, []string{".gitignore"}, namesIn(t, dir))
}

// A file can be opened while it is replaced all the time.
func TestOpenWhileReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be replaced there")
	}
	dir := realDir(t)
	require.NoError(t, Replace(dir, "a.md", []byte("x"), 0o600))
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := Replace(dir, "a.md", []byte("x"), 0o600); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 3000 {
		file, _, err := Open(dir, "a.md")
		require.NoError(t, err)
		file.Close()
	}
	close(stop)
	writer.Wait()
}

func TestCreate(t *testing.T) {
	dir := realDir(t)
	require.NoError(t, Create(dir, "x/a.md", []byte("one"), 0o640))
	require.ErrorIs(t, Create(dir, "x/a.md", []byte("two"), 0o640), fs.ErrExist)
	got, err := read(t, dir, "x/a.md")
	require.NoError(t, err)
	require.Equal(t, "one", got)
	require.Equal(t, []string{"a.md"}, namesIn(t, filepath.Join(dir, "x")))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(filepath.Join(dir, "x", "a.md"))
		require.NoError(t, err)
		beside := filepath.Join(dir, "beside") // has the permissions that the umask leaves
		require.NoError(t, os.WriteFile(beside, nil, 0o640))
		want, err := os.Stat(beside)
		require.NoError(t, err)
		require.Equal(t, want.Mode(), info.Mode())
	}
}

// An error names the target and the cause.
func TestErrorsOfReplaceNameTheFile(t *testing.T) {
	dir := realDir(t)
	write(t, filepath.Join(dir, "file"), "x")
	err := Replace(dir, filepath.Join("file", "a.md"), []byte("x"), 0o600)
	var path *fs.PathError
	require.ErrorAs(t, err, &path)
	require.Equal(t, filepath.Join(dir, "file", "a.md"), path.Path)
	require.NotContains(t, err.Error(), unfinished)
	require.ErrorIs(t, Replace(filepath.Join(dir, "no"), "a.md", []byte("x"), 0o600), fs.ErrNotExist)
}
