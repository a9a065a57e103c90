//go:build lancedb

package lancedb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

const small = 32 // dimension

// vectors returns random unit vectors in clusters, like embeddings.
func vectors(seed uint64, n, dimension int) [][]float32 {
	centres := rand.New(rand.NewPCG(1, 1))
	middle := make([][]float32, 40)
	for i := range middle {
		middle[i] = make([]float32, dimension)
		for j := range middle[i] {
			middle[i][j] = float32(centres.NormFloat64())
		}
	}
	random := rand.New(rand.NewPCG(seed, 2))
	drawn := make([][]float32, n)
	for i := range drawn {
		centre, length := middle[random.IntN(len(middle))], 0.0
		drawn[i] = make([]float32, dimension)
		for j := range drawn[i] {
			drawn[i][j] = centre[j] + 0.8*float32(random.NormFloat64())
			length += float64(drawn[i][j]) * float64(drawn[i][j])
		}
		for j := range drawn[i] {
			drawn[i][j] /= float32(math.Sqrt(length))
		}
	}
	return drawn
}

// records returns n records with IDs from lo; every hundredth is global, ten make a document.
func records(seed uint64, lo, n, dimension int) []store.Record {
	recs := make([]store.Record, n)
	for i, vector := range vectors(seed, n, dimension) {
		number := lo + i
		recs[i] = store.Record{ID: fmt.Sprintf("%08x", number), Scope: "project", Kind: "markdown", Path: fmt.Sprintf("notes/%d.md", number/10),
			StartLine: number%10 + 1, EndLine: number%10 + 1, Text: fmt.Sprintf("record %d of seed %d", number, seed), Vector: vector}
		if number%100 == 0 {
			recs[i].Scope = "global"
		}
	}
	return recs
}

func openIndex(t testing.TB, dir string, dimension int, options Options) *Index {
	t.Helper()
	ix, err := Open(t.Context(), dir, dimension, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ix.Close()) })
	return ix
}

func add(t testing.TB, ix *Index, recs ...store.Record) {
	t.Helper()
	require.NoError(t, ix.Put(t.Context(), recs))
	require.NoError(t, ix.Commit(t.Context()))
}

func stats(t testing.TB, ix *Index) store.Stats {
	t.Helper()
	s, err := ix.Stats(t.Context())
	require.NoError(t, err)
	return s
}

func TestUpdatesLeaveNoTrace(t *testing.T) {
	const rows, updates = 1000, 400
	ix := openIndex(t, t.TempDir(), small, Options{})
	add(t, ix, records(1, 0, rows, small)...)
	require.NoError(t, ix.Compact(t.Context()))
	fresh := stats(t, ix)
	random := rand.New(rand.NewPCG(3, 3))
	most := 0
	for n := range updates {
		add(t, ix, records(uint64(n+2), random.IntN(rows), 1, small)...)
		most = max(most, stats(t, ix).Fragments)
	}
	if most > 2*defaultLimits.fragments {
		t.Errorf("in the course of %d updates there were %d fragments, want at most %d", updates, most, 2*defaultLimits.fragments)
	}
	before := stats(t, ix)
	require.NoError(t, ix.Compact(t.Context()))
	after := stats(t, ix)
	if after.Records != rows || before.Records != rows {
		t.Errorf("after %d updates there are %d records, after Compact %d, want %d", updates, before.Records, after.Records, rows)
	}
	if float64(after.Bytes) > 1.5*float64(fresh.Bytes) || after.Bytes > 2*fresh.Bytes || before.Bytes > 2*fresh.Bytes {
		t.Errorf("bytes: fresh %d, after %d updates %d, after Compact %d", fresh.Bytes, updates, before.Bytes, after.Bytes)
	}
	if after.Fragments > 12 || after.Versions > 1 || after.Compacted.IsZero() || float64(after.Deleted) > 0.25*rows {
		t.Errorf("after Compact: %+v", after)
	}
	require.NoError(t, ix.Check(t.Context()))
}

func TestCompactWithoutNeedChangesNothing(t *testing.T) {
	dir := t.TempDir()
	ix := openIndex(t, dir, small, Options{})
	require.NoError(t, ix.Compact(t.Context()))
	add(t, ix, records(1, 0, 100, small)...)
	require.NoError(t, ix.Compact(t.Context()))
	before, err := os.ReadFile(filepath.Join(dir, "CURRENT"))
	require.NoError(t, err)
	require.NoError(t, ix.Compact(t.Context()))
	after, err := os.ReadFile(filepath.Join(dir, "CURRENT"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestCompactLeavesTheBatchAsItIs(t *testing.T) {
	ix := openIndex(t, t.TempDir(), small, Options{ApproximateFrom: 300})
	add(t, ix, records(1, 0, 400, small)...)
	require.NoError(t, ix.Put(t.Context(), records(1, 400, 1, small)))
	require.NoError(t, ix.Compact(t.Context()))
	require.Equal(t, 400, stats(t, ix).Records)
	require.NoError(t, ix.Commit(t.Context()))
	require.Equal(t, 401, stats(t, ix).Records)
}

// recall is the share of the exact k best that the index finds, over several queries.
func recall(t *testing.T, approximate, exact *Index, k int, f store.Filter) float64 {
	found, all := 0, 0
	for _, query := range vectors(77, 50, small) {
		want, err := exact.Nearest(t.Context(), query, k, f)
		require.NoError(t, err)
		got, err := approximate.Nearest(t.Context(), query, k, f)
		require.NoError(t, err)
		require.Len(t, got, len(want))
		if !slices.IsSortedFunc(got, func(a, b store.Hit) int { return -compare(a.Score, b.Score) }) {
			t.Fatal("hits are not best first")
		}
		ids := map[string]float64{}
		for _, hit := range got {
			ids[hit.Record.ID] = hit.Score
		}
		for _, hit := range want {
			all++
			if score, ok := ids[hit.Record.ID]; ok {
				found++
				require.InDelta(t, hit.Score, score, 1e-5)
			}
		}
	}
	return float64(found) / float64(all)
}

func compare(a, b float64) int {
	if a < b {
		return -1
	} else if a > b {
		return 1
	}
	return 0
}

func TestApproximateIndex(t *testing.T) {
	const rows = 6000
	approximate := openIndex(t, t.TempDir(), small, Options{ApproximateFrom: 1000})
	exact := openIndex(t, t.TempDir(), small, Options{ApproximateFrom: -1})
	for _, ix := range []*Index{approximate, exact} {
		add(t, ix, records(1, 0, rows, small)...)
		require.NoError(t, ix.Compact(t.Context()))
	}
	if got := stats(t, approximate).Index; !strings.HasPrefix(got, "IVF_FLAT of 6000 rows") {
		t.Fatalf("Stats().Index = %q, want an index of all rows", got)
	}
	require.Equal(t, "exact", stats(t, exact).Index)
	if got := recall(t, approximate, exact, 50, store.Filter{}); got < 0.95 {
		t.Errorf("recall@50 = %.3f, want at least 0.95", got)
	}
	// One filter passes most rows, the other few, which are searched exactly.
	if got := recall(t, approximate, exact, 50, store.Filter{Scope: "project"}); got < 0.95 {
		t.Errorf("recall@50 with a wide filter = %.3f, want at least 0.95", got)
	}
	for _, f := range []store.Filter{{Scope: "global"}, {Path: "notes/7.md"}, {Path: "none"}} {
		if got := recall(t, approximate, exact, 50, f); f.Path != "none" && got != 1 {
			t.Errorf("recall@50 with the narrow filter %+v = %.3f, want 1", f, got)
		}
	}
	// Searches find rows added after the index was made, and no deleted ones.
	late := records(5, rows, 3, small)
	add(t, approximate, late...)
	hits, err := approximate.Nearest(t.Context(), late[1].Vector, 1, store.Filter{})
	require.NoError(t, err)
	require.Equal(t, late[1].ID, hits[0].Record.ID)
	scores, err := approximate.Similarities(t.Context(), late[1].Vector, []string{late[1].ID, "00000001"})
	require.NoError(t, err)
	require.Len(t, scores, 2)
	require.NoError(t, approximate.Delete(t.Context(), []string{late[1].ID}))
	require.NoError(t, approximate.Commit(t.Context()))
	hits, err = approximate.Nearest(t.Context(), late[1].Vector, 3, store.Filter{})
	require.NoError(t, err)
	require.NotEqual(t, late[1].ID, hits[0].Record.ID)
	// If it lacks many rows, it is rebuilt.
	add(t, approximate, records(6, rows+10, 1000, small)...)
	require.Contains(t, stats(t, approximate).Index, "1002 searched exactly")
	require.NoError(t, approximate.Compact(t.Context()))
	require.Contains(t, stats(t, approximate).Index, "IVF_FLAT of 7002 rows, 0 searched exactly")
	require.NoError(t, approximate.Check(t.Context()))
}

func TestCancelledCommitChangesNothing(t *testing.T) {
	dir := t.TempDir()
	ix := openIndex(t, dir, small, Options{})
	add(t, ix, records(1, 0, 3000, small)...)
	for n := range 20 {
		require.NoError(t, ix.Put(t.Context(), records(uint64(n+2), 0, 3000, small)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(n*n/4)*time.Millisecond)
		err := ix.Commit(ctx)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Commit cancelled: %v, want context.DeadlineExceeded", err)
		}
		require.Equal(t, 3000, stats(t, ix).Records)
	}
	add(t, ix, records(99, 5000, 1, small)...)
	require.Equal(t, 3001, stats(t, ix).Records)
	require.NoError(t, ix.Check(t.Context()))
	require.NoError(t, ix.Close())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.LessOrEqual(t, len(entries), 3, "two generations and CURRENT")
}

func TestDamage(t *testing.T) {
	for name, test := range map[string]struct {
		harm func(t *testing.T, database string)
		want error
	}{
		"no data": {func(t *testing.T, database string) {
			require.NoError(t, os.RemoveAll(filepath.Join(database, tableFolder, "data")))
		}, store.ErrCorrupt},
		"no versions": {func(t *testing.T, database string) {
			require.NoError(t, os.RemoveAll(filepath.Join(database, tableFolder, "_versions")))
		}, store.ErrCorrupt},
		"a manifest cut short": {func(t *testing.T, database string) {
			cut(t, filepath.Join(database, tableFolder, "_versions", "*.manifest"), 2)
		}, store.ErrCorrupt},
		"a manifest of nothing": {func(t *testing.T, database string) {
			cut(t, filepath.Join(database, tableFolder, "_versions", "*.manifest"), 1<<30)
		}, store.ErrCorrupt},
		"data cut short": {func(t *testing.T, database string) {
			cut(t, filepath.Join(database, tableFolder, "data", "*.lance"), 2)
		}, store.ErrCorrupt},
		"data changed": {func(t *testing.T, database string) {
			file := one(t, filepath.Join(database, tableFolder, "data", "*.lance"))
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			at := strings.Index(string(data), "record 7 of seed 1")
			require.Positive(t, at)
			for i := range data { // in every place where a text is kept
				if strings.HasPrefix(string(data[i:]), "record 7 of seed 1") {
					data[i+7] = '8'
				}
			}
			require.NoError(t, os.WriteFile(file, data, 0o600))
		}, store.ErrCorrupt},
		"another format": {func(t *testing.T, database string) {
			text, err := store.ManifestFormat{Kind: "lancedb", Number: 99}.Encode(filepath.Dir(database), manifest{})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(database), store.ManifestFile), text, 0o600))
		}, store.ErrNewer},
		"manifest is no JSON": {func(t *testing.T, database string) {
			require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(database), store.ManifestFile), []byte(`{`), 0o600))
		}, store.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ix := openIndex(t, dir, small, Options{})
			add(t, ix, records(1, 0, 20, small)...)
			require.NoError(t, ix.Close())
			test.harm(t, one(t, filepath.Join(dir, "1", "db-*")))
			damaged, err := Open(t.Context(), dir, small, Options{})
			if err == nil {
				defer damaged.Close()
				err = damaged.Check(t.Context())
			}
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.Len(t, found, 1)
	return found[0]
}

// cut keeps the first n-th of a file.
func cut(t *testing.T, pattern string, n int64) {
	t.Helper()
	file := one(t, pattern)
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(file, info.Size()/n))
}

func TestOpensNoOtherDimension(t *testing.T) {
	dir := t.TempDir()
	add(t, openIndex(t, dir, small, Options{}), records(1, 0, 3, small)...)
	if _, err := Open(t.Context(), dir, small+1, Options{}); !errors.Is(err, store.ErrDimension) {
		t.Errorf("Open with another dimension: %v, want ErrDimension", err)
	}
	if _, err := Open(t.Context(), dir, 0, Options{}); err == nil {
		t.Error("Open with dimension 0: no error")
	}
}
