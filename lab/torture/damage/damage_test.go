// Package damage attacks files on disk and answers of servers: changed bits, lengths and times,
// huge files, hanging servers, nonsense, little memory, other releases.
package damage

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// A wound is damage to a file, in place: open handles see it.
type wound struct{ file, what string }

func (w wound) String() string { return w.what + " of " + w.file }

// wounds lists kinds of damage; more frequent ones are repeated.
var wounds = []string{"bit", "bit", "bit", "bit", "bit", "bit", "cut", "zeroed page", "random page", "tail", "swap", "empty", "gone"}

// hurt damages one of the files below root, not empty and not in skip, and describes it.
func hurt(t *testing.T, random *rand.Rand, root string, files []string) wound {
	t.Helper()
	file := files[random.IntN(len(files))]
	path := filepath.Join(root, file)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	size := max(len(data), 1)
	what := wounds[random.IntN(len(wounds))]
	if len(data) == 0 {
		what = "tail"
	}
	at := random.IntN(size)
	write := func(b []byte, at int) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt(b, int64(at))
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	switch what {
	case "bit":
		bit := random.IntN(8)
		write([]byte{data[at] ^ 1<<bit}, at)
		what = fmt.Sprintf("bit %d of byte %d of %d", bit, at, size)
	case "cut":
		require.NoError(t, os.Truncate(path, int64(at)))
		what = fmt.Sprintf("cut to %d of %d bytes", at, size)
	case "zeroed page", "random page":
		from := at / 4096 * 4096
		page := make([]byte, min(4096, size-from))
		if what == "random page" {
			for i := range page {
				page[i] = byte(random.Uint32())
			}
		}
		write(page, from)
		what += fmt.Sprintf(" at %d of %d", from, size)
	case "tail":
		tail := make([]byte, 1+random.IntN(5000))
		for i := range tail {
			tail[i] = byte(random.Uint32()) * byte(random.IntN(2))
		}
		write(tail, len(data))
		what = fmt.Sprintf("%d bytes behind the end", len(tail))
	case "swap":
		other := files[random.IntN(len(files))]
		text, err := os.ReadFile(filepath.Join(root, other))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(root, other), data, 0o600))
		what = "swap with " + other
	case "empty":
		require.NoError(t, os.Truncate(path, 0))
	case "gone":
		require.NoError(t, os.Remove(path))
	}
	return wound{file, what}
}

// filesIn returns relative paths of the files below root.
func filesIn(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		all = append(all, filepath.ToSlash(rel))
		return err
	}))
	slices.Sort(all)
	return all
}

// A tree is the saved content of a folder.
type tree map[string][]byte

func treeOf(t *testing.T, root string) tree {
	t.Helper()
	all := tree{}
	for _, file := range filesIn(t, root) {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		all[file] = text
	}
	return all
}

// restore restores a folder with new files; open handles keep the old ones.
func (all tree) restore(t *testing.T, root string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(root))
	for file, text := range all {
		path := filepath.Join(root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, text, 0o600))
	}
}

// writeEarlier writes a file an hour old.
func writeEarlier(t *testing.T, path, text string) {
	t.Helper()
	harness.Write(t, path, text)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
}
