package storetest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

func testSecondReader(x *fixture) {
	writer, reader := x.open(), x.open()
	x.holds(reader)
	for n := range 20 {
		x.add(writer, x.record(n, "notes/a.md"))
		switch n % 4 { // each kind of read is once the first after a commit
		case 0:
			require.Equal(x, n+1, x.count(reader))
		case 1:
			require.Len(x, x.document(reader, "notes/a.md"), n+1)
		case 2:
			require.Len(x, x.search(reader, 100, store.Filter{}), n+1)
		case 3:
			scores, err := reader.scores(x.Context(), []string{id(n)})
			require.NoError(x, err)
			require.Len(x, scores, 1)
		}
	}
	for n := range 15 {
		x.delete(writer, id(n))
	}
	x.commit(writer)
	x.holds(reader, numbers(15, 20)...)
	require.NoError(x, reader.Check(x.Context()))
	require.NoError(x, writer.Close())
	x.holds(reader, numbers(15, 20)...)
}

// The writer may change, if only one commits at a time.
func testSecondWriter(x *fixture) {
	both := []*index{x.open(), x.open()}
	for n := range 12 {
		x.add(both[n%2], x.record(n, "notes/a.md"))
	}
	x.put(both[0], x.records(12, 14)...)
	x.delete(both[1], id(3))
	x.add(both[1], x.record(1, "notes/b.md"))
	x.delete(both[0], id(1))
	x.commit(both[0])
	for _, ix := range both {
		x.holds(ix, 0, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
	}
}

// A crash leaves the folder as it is during a write.
func testCrash(x *fixture) {
	ix := x.open()
	x.put(ix, x.records(0, 3)...)
	x.holds(x.openIn(x.copyFolder()))
	x.commit(ix)
	x.put(ix, x.records(3, 300)...)
	x.delete(ix, id(0))
	dir := x.copyFolder()
	x.commit(ix)
	crashed := x.openIn(dir)
	x.holds(crashed, 0, 1, 2)
	x.add(crashed, x.record(7, "notes/b.md"))
	x.holds(crashed, 0, 1, 2, 7)
	x.checkFolder(dir)
}

func (x *fixture) copyFolder() string {
	x.Helper()
	dir := filepath.Join(x.TempDir(), "copy")
	require.NoError(x, os.CopyFS(dir, os.DirFS(x.dir)))
	return dir
}

func modTimes(x *fixture, dir string) map[string]time.Time {
	x.Helper()
	times := map[string]time.Time{}
	require.NoError(x, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			times[path] = info.ModTime()
		}
		return err
	}))
	return times
}

// fragmentsAfterSmallCommits is generous, but independent of how many commits there were.
const fragmentsAfterSmallCommits = 40

func testSmallCommits(x *fixture) {
	ix := x.open()
	x.add(ix, x.records(0, 100)...)
	for n := range 200 {
		x.delete(ix, id(n))
		x.add(ix, x.record(100+n, "notes/a.md"))
	}
	x.holds(ix, numbers(200, 300)...)
	stats, err := ix.Stats(x.Context())
	require.NoError(x, err)
	if stats.Fragments > fragmentsAfterSmallCommits || stats.Deleted > stats.Records+50 {
		x.Errorf("Stats after 200 commits = %+v, want at most %d fragments, and not more dead rows than records",
			stats, fragmentsAfterSmallCommits)
	}
	files := len(modTimes(x, x.dir))
	if files > 4*fragmentsAfterSmallCommits {
		x.Errorf("after 200 commits there are %d files", files)
	}
	once := x.openIn(x.TempDir())
	x.add(once, x.records(200, 300)...)
	require.Equal(x, brief(x.search(once, 100, store.Filter{})), brief(x.search(ix, 100, store.Filter{})))
}

// gone is in all texts of a record that is deleted or replaced. Few writers can compress it.
const gone = "Qx7vZk2wJh9"

// testPurge deletes so little that no commit rewrites what holds it.
func testPurge(x *fixture) {
	ix := x.open()
	require.NoError(x, ix.Purge(x.Context()))
	x.add(ix, x.records(0, 40)...)
	deleted, replaced := x.record(41, "notes/b.md"), x.record(42, "notes/b.md")
	for _, rec := range []*store.Record{&deleted, &replaced} {
		rec.Text, rec.Before, rec.After, rec.Headings = rec.Text+" "+gone, gone, gone, []string{gone}
	}
	x.add(ix, deleted, replaced)
	x.delete(ix, deleted.ID, id(0))
	x.add(ix, x.record(42, "notes/b.md"))
	want := brief(x.search(ix, 100, store.Filter{}))
	reader := x.open()

	x.put(ix, x.record(50, "notes/a.md"))
	require.NoError(x, ix.Purge(x.Context()))
	for _, ix := range []*index{ix, reader, x.open()} {
		x.holds(ix, append(numbers(1, 40), 42)...)
		require.Equal(x, want, brief(x.search(ix, 100, store.Filter{})))
	}
	stats, err := ix.Stats(x.Context())
	require.NoError(x, err)
	require.Zero(x, stats.Deleted)
	for file := range modTimes(x, x.dir) {
		text, err := os.ReadFile(file)
		require.NoError(x, err)
		if strings.Contains(strings.ToLower(string(text)), strings.ToLower(gone)) {
			x.Errorf("%s still has what was deleted", file)
		}
	}

	before := modTimes(x, x.dir)
	require.NoError(x, ix.Purge(x.Context()))
	require.Equal(x, before, modTimes(x, x.dir), "files of the index before and after a Purge of nothing")
	x.commit(ix)
	x.holds(ix, append(numbers(1, 40), 42, 50)...)
}
