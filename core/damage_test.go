package core_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
)

// Damage that no open sees, but a query, is told to the next run of indexing, of another process too.
func TestDamageThatAQueryMeets(t *testing.T) {
	for _, who := range []string{"a query", "the check", "indexing"} {
		mem := newMemory(t)
		for i := range 20 { // enough that a small change is not all written anew
			mem.write(fmt.Sprintf("more/%d.md", i), fmt.Sprintf("# Note %d\n\nSome thing number %d.\n", i, i))
		}
		m := mem.open()
		index(t, m)
		want := search(t, m, "staging postgres port")
		flipAll(t, filepath.Join(mem.options.Folder, "1", "vectors", "1", "vectors"))
		switch who {
		case "a query":
			result, err := m.Search(t.Context(), "staging postgres port", core.SearchOptions{})
			require.NoError(t, err)
			if first(result) != first(want) || len(result.Degraded) != 1 || !strings.Contains(result.Degraded[0], "index is damaged") {
				t.Errorf("Search with all vectors damaged = %s first, degraded %q, want keywords to answer and damage to be said", first(result), result.Degraded)
			}
		case "the check":
			require.ErrorIs(t, m.Check(t.Context()), store.ErrCorrupt)
		case "indexing":
			for i := range 15 { // so many that what stays is copied
				require.NoError(t, os.Remove(filepath.Join(mem.notes, fmt.Sprintf("more/%d.md", i))))
			}
		}
		other := mem.open()
		if who != "indexing" {
			status, err := other.Status(t.Context())
			require.NoError(t, err)
			if len(status.Problems) != 1 || !strings.Contains(status.Problems[0], "damage was met") {
				t.Errorf("after %s met damage: problems %q, want it said", who, status.Problems)
			}
		}
		if report := index(t, other); !strings.Contains(report.Rebuilt, "index is damaged") {
			t.Errorf("after %s met damage: Index rebuilt %q, want it anew because of that", who, report.Rebuilt)
		}
		if result := search(t, m, "staging postgres port"); len(result.Degraded) > 0 || first(result) != first(want) {
			t.Errorf("after mending: %s first, degraded %q", first(result), result.Degraded)
		}
		if report := index(t, other); report.Rebuilt != "" {
			t.Errorf("Index of a mended index: rebuilt %q", report.Rebuilt)
		}
	}
}

func flipAll(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := range text {
		text[i] ^= 1
	}
	require.NoError(t, os.WriteFile(file, text, 0o600))
}

// What a newer release made is neither read nor changed, until somebody asks for that.
func TestNewerIndexesAreLeftAsTheyAre(t *testing.T) {
	manifest := []byte("{}")
	sum := crc32.Checksum([]byte("99{}"), crc32.MakeTable(crc32.Castagnoli))
	for name, newer := range map[string]struct{ file, text string }{
		"manifest": {"1/manifest.json", fmt.Sprintf(`{"format":99,"checksum":%d,"content":%s}`, sum, manifest)},
		"vectors":  {"1/vectors/1/meta", fmt.Sprintf("memcore vectors, format 99, checksum %08x\n{}", sum)},
		"keywords": {"1/keywords/1/keywords", fmt.Sprintf("memcore keywords, mapping 99, segments 99, checksum %08x\n{}", crc32.ChecksumIEEE([]byte("99 99{}")))},
	} {
		t.Run(name, func(t *testing.T) {
			mem := newMemory(t)
			m, err := core.Open(t.Context(), mem.options)
			require.NoError(t, err)
			index(t, m)
			require.NoError(t, m.Close())
			require.NoError(t, os.WriteFile(filepath.Join(mem.options.Folder, newer.file), []byte(newer.text), 0o600))
			before := treeOf(t, mem.options.Folder)
			mem.write("staging.md", "# Staging\n\nAll is new.\n")
			mem.options.Freshness = 1 << 40

			m = mem.open()
			result, err := m.RetrieveRelevant(t.Context(), "staging postgres port", core.RetrieveOptions{MinSimilarity: -1})
			if err == nil {
				require.Len(t, result.Degraded, 1)
				require.Contains(t, result.Degraded[0], "newer memcore")
			} else {
				require.ErrorIs(t, err, store.ErrNewer)
				require.Equal(t, core.StateNewer, result.State)
			}
			status, err := m.Status(t.Context())
			require.NoError(t, err)
			require.Len(t, status.Problems, 1)
			_, err = m.Index(t.Context(), core.IndexOptions{})
			require.ErrorIs(t, err, store.ErrNewer)
			for _, text := range []string{err.Error(), status.Problems[0]} {
				require.Contains(t, text, "left as it is")
				require.Contains(t, text, "--rebuild")
			}
			require.Equal(t, before, treeOf(t, mem.options.Folder))
			report, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
			require.NoError(t, err)
			require.NotEmpty(t, report.Rebuilt)
			require.Empty(t, search(t, m, "staging postgres port").Degraded)
		})
	}
}

// treeOf returns what files a folder has, with what is in them.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		tree[path] = string(bytes.Clone(text))
		return err
	}))
	return tree
}
