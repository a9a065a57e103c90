package core_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
)

// A query records damage that opening does not find, and the next run of indexing, in any process,
// rebuilds.
func TestDamageThatAQueryMeets(t *testing.T) {
	for _, who := range []string{"a query", "the check", "indexing"} {
		mem := newMemory(t)
		for i := range 20 { // enough that a small change does not rewrite everything
			mem.write(fmt.Sprintf("more/%d.md", i), fmt.Sprintf("# Note %d\n\nSome thing number %d.\n", i, i))
		}
		m := mem.open()
		index(t, m)
		want := search(t, m, "staging postgres port")
		damageVectors(t, mem.options.Folder)
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
			if len(status.Problems) != 1 || !strings.Contains(status.Problems[0], "damage was found") {
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

// damageVectors damages all vectors of an index.
func damageVectors(t *testing.T, index string) {
	t.Helper()
	engine := testEngines[defaultEngine]
	files, err := filepath.Glob(filepath.Join(index, "1", "vectors", "1", engine.files))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, engine.damage(text), 0o600))
	}
}

// Only Rebuild reads or changes an index of a newer release.
func TestNewerIndexesAreLeftAsTheyAre(t *testing.T) {
	for kind, folder := range map[string]string{"memory": "1", testEngines[defaultEngine].kind: "1/vectors/1", "keywords": "1/keywords/1"} {
		t.Run(kind, func(t *testing.T) {
			mem := newMemory(t)
			m, err := core.Open(t.Context(), mem.options)
			require.NoError(t, err)
			index(t, m)
			require.NoError(t, m.Close())
			require.NoError(t, os.WriteFile(filepath.Join(mem.options.Folder, folder, store.ManifestFile), []byte(newer(kind, folder)), 0o600))
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

// newer is the manifest that a newer release writes.
func newer(kind, folder string) string {
	text, _ := store.ManifestFormat{Kind: kind, Number: 9999}.Encode(folder, struct{}{})
	return string(text)
}

// treeOf returns the files of a folder with their content.
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
