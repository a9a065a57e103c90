//go:build lancedb

package core_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/shared"
)

// sharing returns memories that share one table, each with its notes and embedder.
func sharing(t *testing.T, owners ...string) map[string]*memory {
	uri := filepath.Join(t.TempDir(), "shared")
	all := map[string]*memory{}
	for _, owner := range owners {
		m := &memory{t: t}
		m.options, m.notes = optionsFor(t)
		m.embedder = m.options.Embedder.(*hashEmbedder)
		table, err := shared.Open(uri, shared.Options{Dimension: hashDimension})
		require.NoError(t, err)
		m.options.Shared, m.options.Owner = table, owner
		all[owner] = m
	}
	return all
}

func indexAll(t *testing.T, m *core.Manager) core.IndexReport {
	t.Helper()
	report, err := m.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Shared.Problem)
	require.NoError(t, m.Check(t.Context()))
	return report
}

func find(t *testing.T, m *core.Manager, query string) []string {
	t.Helper()
	result, err := m.Search(t.Context(), query, core.SearchOptions{Explain: true})
	require.NoError(t, err)
	var sources []string
	for _, hit := range result.Hits {
		if hit.Explain.BM25 > 0 {
			require.NotNil(t, hit.Explain.Cosine, "%s has no vector", hit.Source)
			sources = append(sources, hit.Source)
		}
	}
	return sources
}

func TestShare(t *testing.T) {
	all := sharing(t, "ada", "bob")
	all["ada"].write("staging.md", "# Staging\n\nThe staging postgres listens on port 5433.\n")
	all["bob"].write("staging.md", "# Kitchen\n\nThe coffee machine needs descaling in May.\n")
	ada, bob := all["ada"].open(), all["bob"].open()
	first := indexAll(t, ada)
	require.Equal(t, core.SharedReport{Published: 1}, *first.Shared)
	second := indexAll(t, bob)
	require.Equal(t, core.SharedReport{Published: 1, Pulled: 1, Owners: 1}, *second.Shared)
	if got := all["bob"].embedder.texts.Load(); got != 2 { // its own, when indexed and when published; this embedder has no cache
		t.Errorf("bob embedded %d texts, want only his own: a vector came with ada's", got)
	}
	indexAll(t, ada)
	require.Equal(t, []string{"shared:ada/notes/staging.md#L1-L3"}, find(t, bob, "postgres port"))
	require.Equal(t, []string{"shared:bob/notes/staging.md#L1-L3"}, find(t, ada, "coffee machine"))

	// Nothing new costs nothing, and nobody publishes what is another's.
	require.Equal(t, core.SharedReport{Owners: 1}, *indexAll(t, bob).Shared)
	require.Equal(t, core.SharedReport{Owners: 1}, *indexAll(t, ada).Shared)

	// Changes and withdrawals arrive; a query's fold-in does not take them for deleted files.
	all["ada"].write("staging.md", "# Staging\n\nThe staging postgres listens on port 6000.\n")
	indexAll(t, ada)
	require.Equal(t, 2, indexAll(t, bob).Shared.Pulled) // one put, one withdrawn
	require.Equal(t, []string{"shared:ada/notes/staging.md#L1-L3"}, find(t, bob, "6000"))
	require.Empty(t, find(t, bob, "5433"))
	require.NoError(t, os.Remove(filepath.Join(all["ada"].notes, "staging.md")))
	require.Equal(t, 1, indexAll(t, ada).Shared.Withdrawn)
	indexAll(t, bob)
	require.Empty(t, find(t, bob, "postgres"))
	status, err := bob.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, "bob", status.Shared.Owner)
	require.Nil(t, status.Stale)
}

func TestShareAfterTheIndexWasDeleted(t *testing.T) {
	all := sharing(t, "ada", "bob")
	all["ada"].write("a.md", "# A\n\nAlpha one.\n")
	all["bob"].write("b.md", "# B\n\nBeta two.\n")
	indexAll(t, all["ada"].open())
	indexAll(t, all["bob"].open())
	all["bob"].options.Folder += "-new"
	again := all["bob"].open()
	require.Equal(t, core.SharedReport{Pulled: 1, Owners: 1}, *indexAll(t, again).Shared, "nothing is published twice, all is pulled")
	require.Equal(t, []string{"shared:ada/notes/a.md#L1-L3"}, find(t, again, "alpha"))
}

func TestShareWithAnotherEmbedder(t *testing.T) {
	all := sharing(t, "ada", "bob")
	all["bob"].options.Embedder = &hashEmbedder{name: "other"}
	all["ada"].write("a.md", "# A\n\nAlpha one.\n")
	indexAll(t, all["ada"].open())
	bob := all["bob"].open()
	indexAll(t, bob)
	require.Equal(t, []string{"shared:ada/notes/a.md#L1-L3"}, find(t, bob, "alpha"))
	if got := all["bob"].options.Embedder.(*hashEmbedder).texts.Load(); got != 1 {
		t.Errorf("bob embedded %d texts, want ada's, whose vector is of another embedder", got)
	}
}

// hostile is another memory that publishes what no memory would.
func TestShareWithAHostileOwner(t *testing.T) {
	all := sharing(t, "ada")
	all["ada"].write("a.md", "# A\n\nAlpha one.\n")
	m := all["ada"]
	hostile := store.Record{ID: "not hex", Scope: "root", Kind: "system", Path: "../../passwd", StartLine: -5, EndLine: -9, Tokens: -1,
		Text: "beware of the hostile record", Hash: "x", Time: time.Unix(1<<45, 0), Vector: make([]float32, hashDimension)}
	huge := hostile
	huge.ID, huge.Text = "f", strings.Repeat("hostile record ", 10_000)
	short := hostile
	short.ID, short.Text, short.Vector = "e", "another hostile record", []float32{1}
	for _, owner := range []string{"../../etc", "mallory"} {
		require.NoError(t, m.options.Shared.Publish(t.Context(), owner, m.embedder.Fingerprint(), []store.Record{hostile, huge, short}, nil))
	}
	ada := m.open()
	indexAll(t, ada)
	result, err := ada.Search(t.Context(), "hostile record", core.SearchOptions{Kind: "markdown"})
	require.NoError(t, err)
	_, err = json.Marshal(result)
	require.NoError(t, err)
	found := 0
	for _, hit := range result.Hits {
		if !strings.Contains(hit.Text, "hostile") {
			continue
		}
		found++
		if !strings.HasPrefix(hit.Source, "shared:mallory/") || len(hit.Text) > 100 || hit.TokenEstimate < 4 {
			t.Errorf("hit %+v, want a small one of an owner with a plain name", hit)
		}
	}
	require.Equal(t, 2, found)
}

func TestOnlyTheWorkspaceIsPublished(t *testing.T) {
	all := sharing(t, "ada", "bob")
	ada := all["ada"]
	ada.write("a.md", "# A\n\nAlpha of the project.\n")
	elsewhere := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "diary.md"), []byte("# Diary\n\nAlpha of the diary.\n"), 0o644))
	ada.options.Sources = append(ada.options.Sources,
		source.NewFolder(source.FolderOptions{Path: elsewhere, Workspace: filepath.Dir(ada.notes)}),
		source.NewFolder(source.FolderOptions{Path: elsewhere, Workspace: filepath.Dir(ada.notes), Home: filepath.Dir(elsewhere)}))
	require.Equal(t, 1, indexAll(t, ada.open()).Shared.Published)
	bob := all["bob"].open()
	indexAll(t, bob)
	require.Equal(t, []string{"shared:ada/notes/a.md#L1-L3"}, find(t, bob, "alpha"))
}

func TestAnotherOwnerNamePublishesAgain(t *testing.T) {
	all := sharing(t, "ada")
	ada := all["ada"]
	ada.write("a.md", "# A\n\nAlpha one.\n")
	first := ada.open()
	require.Equal(t, 1, indexAll(t, first).Shared.Published)
	require.NoError(t, first.Close())
	ada.options.Owner = "lovelace"
	require.Equal(t, 1, indexAll(t, ada.open()).Shared.Published)
}

func TestShareEndsWithTheSetting(t *testing.T) {
	all := sharing(t, "ada", "bob")
	all["ada"].write("a.md", "# A\n\nAlpha one.\n")
	all["bob"].write("b.md", "# B\n\nBeta two.\n")
	indexAll(t, all["ada"].open())
	bob := all["bob"].open()
	indexAll(t, bob)
	require.NoError(t, bob.Close())

	all["bob"].options.Shared = nil // a build that cannot reach the others
	kept := all["bob"].open()
	_, err := kept.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, find(t, kept, "alpha"))
	require.NoError(t, kept.Close())

	all["bob"].options.Owner = "" // not shared any more
	ended := all["bob"].open()
	_, err = ended.Index(context.Background(), core.IndexOptions{})
	require.NoError(t, err)
	require.Empty(t, find(t, ended, "alpha"))
}
