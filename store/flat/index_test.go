package flat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
	"github.com/memcore/memcore/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.TestVectorIndex(t, func(t *testing.T, dir string, dimension int) store.VectorIndex { return open(t, dir, dimension) })
}

const small = 24 // dimension

func open(t *testing.T, dir string, dimension int) *Index {
	t.Helper()
	ix, err := Open(t.Context(), dir, dimension)
	require.NoError(t, err)
	t.Cleanup(func() { ix.Close() })
	return ix
}

func add(t *testing.T, ix *Index, recs ...store.Record) {
	t.Helper()
	require.NoError(t, ix.Put(t.Context(), recs))
	require.NoError(t, ix.Commit(t.Context()))
}

func remove(t *testing.T, ix *Index, recs ...store.Record) {
	t.Helper()
	for _, rec := range recs {
		require.NoError(t, ix.Delete(t.Context(), []string{rec.ID}))
	}
	require.NoError(t, ix.Commit(t.Context()))
}

func count(t *testing.T, ix *Index) int {
	t.Helper()
	n, err := ix.Count(t.Context())
	require.NoError(t, err)
	return n
}

// snap returns the current snapshot.
func snap(t *testing.T, ix *Index) *snapshot {
	t.Helper()
	s, err := disk.Read(t.Context(), ix.Index, "look", func(s *snapshot) (*snapshot, error) { return s, nil })
	require.NoError(t, err)
	return s
}

func TestOpenWithAnotherDimension(t *testing.T) {
	ix := filled(t, 3, small)
	dir := ix.Folder()
	for _, dimension := range []int{small - 1, small + 1} {
		_, err := Open(t.Context(), dir, dimension)
		var wrapped *store.Error
		if !errors.Is(err, store.ErrDimension) || !errors.As(err, &wrapped) || wrapped.Op != "open" || wrapped.Path != dir {
			t.Errorf("Open for dimension %d: error %v, want ErrDimension in a store.Error", dimension, err)
		}
	}
	for _, dimension := range []int{0, -1} {
		if _, err := Open(t.Context(), t.TempDir(), dimension); err == nil {
			t.Errorf("Open for dimension %d: no error", dimension)
		}
	}
}

func TestOpenMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	ix := open(t, dir, small)
	require.Zero(t, count(t, ix))
	require.NoDirExists(t, dir)
	add(t, ix, newGenerated(1).records(1, small)...)
	require.DirExists(t, dir)
}

func TestVectorsThatAreRefused(t *testing.T) {
	ix := open(t, t.TempDir(), 4)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, vec := range [][]float32{{0, 0, 0, 0}, {nan, 0, 0, 1}, {inf, 0, 0, 0}, {-inf, inf, 0, 0}, {1, 1, 0, 0}, {0.998, 0, 0, 0}} {
		if err := ix.Put(t.Context(), []store.Record{{ID: "1", Vector: []float32{1, 0, 0, 0}}, {ID: "2", Vector: vec}}); err == nil {
			t.Errorf("Put of vector %v: no error", vec)
		}
	}
	require.NoError(t, ix.Commit(t.Context()))
	require.Zero(t, count(t, ix))
	for _, vec := range [][]float32{{0, 0, 0, 0}, {nan, 0, 0, 1}, {inf, 0, 0, 0}} {
		if _, err := ix.Nearest(t.Context(), vec, 1, store.Filter{}); err == nil {
			t.Errorf("Nearest of vector %v: no error", vec)
		}
		if _, err := ix.Similarities(t.Context(), vec, nil); err == nil {
			t.Errorf("Similarities of vector %v: no error", vec)
		}
	}
}

func TestQueriesOfAnyLength(t *testing.T) {
	ix := filled(t, 50, small)
	vec := newGenerated(9).vector(small)
	want, err := ix.Nearest(t.Context(), vec, 10, store.Filter{})
	require.NoError(t, err)
	for _, factor := range []float32{1e-15, 0.5, 3, 1e15} {
		scaled := slices.Clone(vec)
		for i := range scaled {
			scaled[i] *= factor
		}
		got, err := ix.Nearest(t.Context(), scaled, 10, store.Filter{})
		require.NoError(t, err)
		for i := range want {
			require.Equal(t, want[i].Record.ID, got[i].Record.ID)
			require.InDelta(t, want[i].Score, got[i].Score, 1e-6)
		}
	}
}

// Codes change no answer, not even among near-duplicates.
func TestCodesChangeNothing(t *testing.T) {
	for _, dimension := range []int{1, 3, small, 100, 4096} {
		t.Run(fmt.Sprint(dimension), func(t *testing.T) {
			ix := filledWithClusters(t, 1300, dimension)
			s := snap(t, ix)
			if dimension == 4096 {
				require.Greater(t, len(s.vectors.chunks), 2)
			}
			g := newGenerated(5)
			for i := range 20 {
				query, k := g.vector(dimension), []int{1, 10, 50, 700}[i%4]
				if i%2 == 0 { // in a cluster
					query = scaled(s.vector(i * 50))
				}
				got, err := s.scan(t.Context(), query, k, selection{snapshot: s})
				require.NoError(t, err)
				require.Equal(t, bruteForce(s, query, k), got)
			}
		})
	}
}

func filledWithClusters(t *testing.T, n, dimension int) *Index {
	ix := open(t, t.TempDir(), dimension)
	g := newGenerated(3)
	recs := g.records(n, dimension)
	for i := range recs {
		if i%3 == 0 {
			continue
		}
		near := slices.Clone(recs[i/100*100].Vector)
		for j := range near {
			near[j] += float32(g.random.NormFloat64()) * 1e-4 * float32(i%2)
		}
		recs[i].Vector = scaled(near)
	}
	for some := range slices.Chunk(recs, n/3) {
		add(t, ix, some...)
	}
	remove(t, ix, recs[10:20]...)
	return ix
}

func bruteForce(s *snapshot, query []float32, k int) []found {
	all := best{snapshot: s, k: k}
	x := &scanner{best: all, rows: selection{snapshot: s}, query: query, seen: s.verified.Load()}
	for row := range s.Rows {
		if !s.dead.has(row) {
			if err := x.score(row, row+1); err != nil {
				panic(err)
			}
		}
	}
	return x.best.sorted()
}

// After a commit, readers read only what is new.
func TestReadersKeepWhatTheyHave(t *testing.T) {
	ix := filled(t, 1300, 4096)
	reader := open(t, ix.Folder(), 4096)
	before := snap(t, reader)
	add(t, ix, newGenerated(77).records(1, 4096)...)
	after := snap(t, reader)
	require.Equal(t, before.Rows+1, after.Rows)
	require.Same(t, before.log, after.log)
	require.Same(t, before.vectors.chunks[0], after.vectors.chunks[0])
	require.Same(t, before.vectors.chunks[1], after.vectors.chunks[1])
	require.NotSame(t, before.vectors.chunks[2], after.vectors.chunks[2])
	require.NoError(t, reader.Check(t.Context()))
}

func TestDeadRowsAreLeftOut(t *testing.T) {
	g := newGenerated(1)
	recs := g.records(100, small)
	dir := t.TempDir()
	ix, reader := open(t, dir, small), open(t, dir, small)
	add(t, ix, recs...)
	remove(t, ix, recs[:30]...)
	stats, err := ix.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Stats{Engine: "flat", Records: 70, Bytes: stats.Bytes, Fragments: 1, Deleted: 30}, stats)
	require.Equal(t, 70, count(t, reader))
	remove(t, ix, recs[30])
	after, err := ix.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, store.Stats{Engine: "flat", Records: 69, Bytes: after.Bytes, Fragments: 1}, after)
	if after.Bytes > stats.Bytes*3/4 {
		t.Errorf("%d bytes after %d, want less: a third of the rows are gone", after.Bytes, stats.Bytes)
	}
	require.Len(t, snap(t, ix).places, 2) // of the first and the second fifty
	require.Equal(t, 69, count(t, reader))
	require.NoError(t, reader.Check(t.Context()))
	remove(t, ix, recs...)
	require.Zero(t, count(t, reader))
	require.NoError(t, ix.Check(t.Context()))
	add(t, ix, recs[:2]...)
	require.Equal(t, 2, count(t, reader))
}

// A running reader finds its records even if the same IDs are put again.
func TestAnOldSnapshotKeepsItsRows(t *testing.T) {
	g := newGenerated(1)
	recs := g.records(40, small)
	ix := open(t, t.TempDir(), small)
	add(t, ix, recs...)
	_, err := disk.Read(t.Context(), ix.Index, "look", func(old *snapshot) (any, error) {
		again := slices.Clone(recs[:5])
		for i := range again {
			again[i].Text, again[i].Vector = "changed", g.vector(small)
		}
		add(t, ix, again...)
		query := g.vector(small)
		ids := []string{recs[0].ID, recs[4].ID, recs[7].ID}
		now, err := ix.Similarities(t.Context(), query, ids) // the table of IDs is now that of the new generation
		require.NoError(t, err)
		before, err := old.similarities(t.Context(), query, ids)
		require.NoError(t, err)
		require.Len(t, before, 3)
		require.Equal(t, before[recs[7].ID], now[recs[7].ID])
		require.NotEqual(t, before[recs[0].ID], now[recs[0].ID])
		hits, err := old.nearest(t.Context(), query, 40, store.Filter{})
		require.NoError(t, err)
		for _, hit := range hits {
			require.NotEqual(t, "changed", hit.Record.Text)
		}
		return nil, nil
	})
	require.NoError(t, err)
}

func TestARemovedIndexAnswersAndDoesNotCommit(t *testing.T) {
	skipOnWindows(t)
	ix := filled(t, 20, small)
	require.Equal(t, 20, count(t, ix))
	require.NoError(t, os.RemoveAll(ix.Folder()))
	hits, err := ix.Nearest(t.Context(), newGenerated(1).vector(small), 5, store.Filter{})
	require.NoError(t, err)
	require.Len(t, hits, 5)
	require.NoError(t, ix.Put(t.Context(), newGenerated(5).records(1, small)))
	require.Error(t, ix.Commit(t.Context()))
	require.Equal(t, 20, count(t, ix))
	other := open(t, ix.Folder(), small)
	require.Zero(t, count(t, other))
}

func skipOnWindows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what is open cannot be removed or cut there")
	}
}

// A deleted and rebuilt index may have the same number; readers notice.
func TestAnIndexBuiltAnewIsNoticed(t *testing.T) {
	skipOnWindows(t)
	reader := filled(t, 20, small)
	dir := reader.Folder()
	for n := range 5 {
		require.NoError(t, os.RemoveAll(dir))
		writer := open(t, dir, small)
		add(t, writer, newGenerated(uint64(n)).records(n+1, small)...)
		require.Equal(t, n+1, count(t, reader))
		require.NoError(t, reader.Check(t.Context()))
		require.NoError(t, writer.Close())
	}
	require.NoError(t, os.RemoveAll(dir))
	add(t, open(t, dir, small+1), newGenerated(1).records(1, small+1)...)
	if _, err := reader.Count(t.Context()); !errors.Is(err, store.ErrDimension) {
		t.Errorf("Count of an index rebuilt with another dimension: error %v, want ErrDimension", err)
	}
}

// If the caller lets two processes commit at once, the later one must not undo the first.
func TestACommitFromAnOldStateFails(t *testing.T) {
	ix := filled(t, 5, small)
	_, err := disk.Read(t.Context(), ix.Index, "look", func(old *snapshot) (any, error) {
		add(t, ix, newGenerated(8).records(1, small)...)
		r := newGenerated(9).records(1, small)[0]
		err := old.Commit(t.Context(), generation.New(ix.Folder()), []disk.Change{{ID: r.ID, Record: &r}})
		require.ErrorContains(t, err, "another process commits")
		return nil, nil
	})
	require.NoError(t, err)
	require.Equal(t, 6, count(t, ix))
	require.NoError(t, ix.Check(t.Context()))
}

// A stopping context ends at its n-th call.
type stopping struct {
	context.Context
	left int
}

func (c *stopping) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A commit cancelled at any step leaves nothing, not even in the size of files.
func TestACommitCancelledAnywhere(t *testing.T) {
	g := newGenerated(1)
	recs := g.records(20, small)
	ix := open(t, t.TempDir(), small)
	add(t, ix, recs...)
	sizes := fileSizes(t, ix)
	for _, dead := range []int{2, 12} { // the latter compacts
		for n := 0; ; n++ {
			require.NoError(t, ix.Put(t.Context(), newGenerated(2).records(4, small)))
			for _, rec := range recs[:dead] {
				require.NoError(t, ix.Delete(t.Context(), []string{rec.ID}))
			}
			err := ix.Commit(&stopping{t.Context(), n})
			if err == nil {
				require.Greater(t, n, 4)
				break
			}
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, 20, count(t, ix))
			require.NoError(t, ix.Check(t.Context()))
			require.Equal(t, sizes, fileSizes(t, ix))
		}
		require.Equal(t, 24-dead, count(t, ix))
		require.NoError(t, ix.Check(t.Context()))
		ix = open(t, t.TempDir(), small)
		add(t, ix, recs...)
		sizes = fileSizes(t, ix)
	}
}

func fileSizes(t *testing.T, ix *Index) map[string]int64 {
	t.Helper()
	sizes := map[string]int64{}
	require.NoError(t, filepath.WalkDir(ix.Folder(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		sizes[path] = info.Size()
		return err
	}))
	return sizes
}

func TestNothingIsLeftOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	held := func() (files, maps int) {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		text, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		return len(entries), len(slices.Collect(linesWith(string(text), "/vectors")))
	}
	filesBefore, mapsBefore := held()
	goroutines := runtime.NumGoroutine()
	for range 3 {
		ix := filled(t, 2500, small)
		for i := range 10 {
			add(t, ix, newGenerated(uint64(i)).records(2, small)...)
			_, err := ix.Nearest(t.Context(), newGenerated(9).vector(small), 5, store.Filter{})
			require.NoError(t, err)
		}
		remove(t, ix, newGenerated(2500).records(1500, small)...)
		require.Equal(t, 1020, count(t, ix))
		require.NoError(t, ix.Close())
	}
	files, maps := held()
	if files != filesBefore || maps != mapsBefore {
		t.Errorf("after Close %d files and %d mappings are open, want %d and %d", files, maps, filesBefore, mapsBefore)
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines, want the %d there were before", now, goroutines)
	}
}
