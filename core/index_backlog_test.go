package core

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// meanwhile calls do before it makes vectors of documents.
type meanwhile struct{ do func(texts int) }

func (m meanwhile) Embed(_ context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if kind == embed.Document {
		m.do(len(texts))
	}
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = []float32{1, 0}
	}
	return vectors, nil
}
func (meanwhile) Dimension() int              { return 2 }
func (meanwhile) Fingerprint() string         { return "meanwhile" }
func (meanwhile) MaxTokens() int              { return 500 }
func (meanwhile) CountTokens(text string) int { return len(text) }

// While a backlog is embedded, a new note is found and a removed one is not.
func TestChangesBesideABacklog(t *testing.T) {
	notes := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(notes, name), []byte(text), 0o600))
	}
	for i := range 200 {
		write(fmt.Sprintf("%03d.md", i), fmt.Sprintf("# Note %d\n\nThe gull number %d is grey.\n", i, i))
	}
	var m *Manager
	found := func() bool {
		result, err := m.Search(t.Context(), "Kessler", SearchOptions{})
		require.NoError(t, err)
		return slices.ContainsFunc(result.Hits, func(h MemoryHit) bool { return strings.HasSuffix(h.Path, "wasps.md") })
	}
	runs, seen := 0, false
	embedder := meanwhile{func(texts int) {
		if m == nil || texts < 2 {
			return
		}
		switch runs++; {
		case runs == 2:
			write("wasps.md", "# Wasps\n\nKessler removed the nest.\n")
			require.NoError(t, os.Remove(filepath.Join(notes, "000.md")))
		case runs > 2 && !seen:
			seen = found()
		}
		time.Sleep(3 * time.Millisecond)
	}}
	engine := store.Engine{Name: "flat",
		Vectors:  func(ctx context.Context, dir string, n int) (store.VectorIndex, error) { return flat.Open(ctx, dir, n) },
		Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
	}
	var err error
	m, err = Open(t.Context(), Options{Folder: filepath.Join(t.TempDir(), "index"), Engine: engine, Embedder: embedder, Freshness: -1,
		Sources: []source.Source{source.NewFolder(source.FolderOptions{Path: notes})}})
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	m.lookAgain = 5 * time.Millisecond
	report, err := m.Index(t.Context(), IndexOptions{})
	require.NoError(t, err)
	require.True(t, seen, "found in the same run, after %d calls", runs)
	require.Equal(t, 200, report.Documents)
	require.Equal(t, 201, report.Added)
	require.Equal(t, 1, report.Removed)
	require.Zero(t, report.Pending)
}
