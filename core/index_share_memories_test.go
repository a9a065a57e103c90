package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// sharedStorages make a storage, by name, for each memory to open.
var sharedStorages = map[string]func(t *testing.T) (open func() store.Shared){
	"in memory": func(*testing.T) func() store.Shared {
		table := &memoryShared{storage: 1}
		return func() store.Shared { return table }
	},
}

// eachStorage runs a test with each storage.
func eachStorage(t *testing.T, test func(t *testing.T, open func() store.Shared)) {
	for name, storage := range sharedStorages {
		t.Run(name, func(t *testing.T) { test(t, storage(t)) })
	}
}

// sharing returns memories with a common storage.
func sharing(t *testing.T, open func() store.Shared, owners ...string) map[string]*memory {
	all := map[string]*memory{}
	for _, owner := range owners {
		m := &memory{t: t}
		m.options, m.notes = optionsFor(t)
		m.embedder = m.options.Embedder.(*hashEmbedder)
		m.options.Shared, m.options.Owner = open(), owner
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

func TestShare(t *testing.T) { eachStorage(t, testShare) }

func testShare(t *testing.T, open func() store.Shared) {
	all := sharing(t, open, "ada", "bob")
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

	// Without changes nothing is exchanged, and no memory publishes another's records.
	require.Equal(t, core.SharedReport{Owners: 1}, *indexAll(t, bob).Shared)
	require.Equal(t, core.SharedReport{Owners: 1}, *indexAll(t, ada).Shared)

	// Changes and withdrawals arrive; queries do not take them for deleted files.
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

func TestShareAfterTheIndexWasDeleted(t *testing.T) { eachStorage(t, testShareAfterTheIndexWasDeleted) }

func testShareAfterTheIndexWasDeleted(t *testing.T, open func() store.Shared) {
	all := sharing(t, open, "ada", "bob")
	all["ada"].write("a.md", "# A\n\nAlpha one.\n")
	all["bob"].write("b.md", "# B\n\nBeta two.\n")
	indexAll(t, all["ada"].open())
	indexAll(t, all["bob"].open())
	all["bob"].options.Folder += "-new"
	again := all["bob"].open()
	require.Equal(t, core.SharedReport{Pulled: 1, Owners: 1}, *indexAll(t, again).Shared, "nothing is published twice, all is pulled")
	require.Equal(t, []string{"shared:ada/notes/a.md#L1-L3"}, find(t, again, "alpha"))
}

func TestShareWithAnotherEmbedder(t *testing.T) { eachStorage(t, testShareWithAnotherEmbedder) }

func testShareWithAnotherEmbedder(t *testing.T, open func() store.Shared) {
	all := sharing(t, open, "ada", "bob")
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

// hostile is a memory that publishes what no real one would.
func TestShareWithAHostileOwner(t *testing.T) { eachStorage(t, testShareWithAHostileOwner) }

func testShareWithAHostileOwner(t *testing.T, open func() store.Shared) {
	all := sharing(t, open, "ada")
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

func TestOnlyTheWorkspaceIsPublished(t *testing.T) { eachStorage(t, testOnlyTheWorkspaceIsPublished) }

func testOnlyTheWorkspaceIsPublished(t *testing.T, open func() store.Shared) {
	all := sharing(t, open, "ada", "bob")
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
	eachStorage(t, testAnotherOwnerNamePublishesAgain)
}

func testAnotherOwnerNamePublishesAgain(t *testing.T, open func() store.Shared) {
	all := sharing(t, open, "ada")
	ada := all["ada"]
	ada.write("a.md", "# A\n\nAlpha one.\n")
	first := ada.open()
	require.Equal(t, 1, indexAll(t, first).Shared.Published)
	require.NoError(t, first.Close())
	ada.options.Owner = "lovelace"
	require.Equal(t, 1, indexAll(t, ada.open()).Shared.Published)
}

func TestShareEndsWithTheSetting(t *testing.T) { eachStorage(t, testShareEndsWithTheSetting) }

func testShareEndsWithTheSetting(t *testing.T, open func() store.Shared) {
	all := sharing(t, open, "ada", "bob")
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

// A new storage in the same place replaces the old records, and gets this memory's.
func TestAStorageThatWasMadeAnew(t *testing.T) {
	table := &memoryShared{storage: 1}
	all := sharing(t, func() store.Shared { return table }, "ada", "bob")
	all["ada"].write("a.md", "# A\n\nAlpha one.\n")
	all["bob"].write("b.md", "# B\n\nBeta two.\n")
	ada, bob := all["ada"].open(), all["bob"].open()
	indexAll(t, ada)
	indexAll(t, bob)
	require.NotEmpty(t, find(t, bob, "alpha"))

	*table = memoryShared{storage: 2}
	require.NoError(t, table.Publish(t.Context(), "eve", "", []store.Record{{ID: "1", Path: "notes/e.md", Kind: source.KindConversation, StartLine: 1, EndLine: 1, Text: "Gamma three."}}, nil))
	require.Equal(t, core.SharedReport{Published: 1, Pulled: 1, Owners: 1}, *indexAll(t, bob).Shared)
	require.Empty(t, find(t, bob, "alpha"))
	require.Equal(t, []string{"shared:eve/notes/e.md#L1"}, find(t, bob, "gamma"))
	status, err := bob.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"eve": 1}, status.Shared.Documents)
	require.True(t, status.Shared.Published)
	_, err = bob.Forget(t.Context(), "shared:eve/notes/e.md")
	require.ErrorIs(t, err, core.ErrNotOurs)
}

// The next run publishes what the storage refused.
func TestPublishingThatFailed(t *testing.T) {
	table := &memoryShared{storage: 1}
	all := sharing(t, func() store.Shared { return table }, "ada", "bob")
	all["ada"].write("a.md", "# A\n\nAlpha one.\n")
	all["ada"].options.Publish = core.PublishAll
	ada := all["ada"].open()
	for _, refused := range []string{"owned", "publish"} {
		table.refuses = refused
		report := index(t, ada)
		require.Contains(t, report.Shared.Problem, "storage is full: "+refused)
		require.Zero(t, report.Pending, "its own index is whole")
		status, err := ada.Status(t.Context())
		require.NoError(t, err)
		require.False(t, status.Shared.Published)
	}
	table.refuses = ""
	require.Equal(t, 1, indexAll(t, ada).Shared.Published)
	bob := all["bob"].open()
	indexAll(t, bob)
	require.Equal(t, []string{"shared:ada/notes/a.md#L1-L3"}, find(t, bob, "alpha"))
}

// Memories without an embedder share words alone.
func TestShareWithoutAnEmbedder(t *testing.T) {
	table := &memoryShared{storage: 1}
	all := sharing(t, func() store.Shared { return table }, "ada", "bob")
	all["ada"].write("a.md", "# A\n\nAlpha one.\n")
	all["ada"].options.Embedder = nil
	indexAll(t, all["ada"].open())
	require.Empty(t, table.log[0].Embedder)
	bob := all["bob"].open()
	indexAll(t, bob)
	require.Equal(t, []string{"shared:ada/notes/a.md#L1-L3"}, find(t, bob, "alpha"), "bob has made the vector")
}

func TestPublishIsOneOfThree(t *testing.T) {
	m := newMemory(t)
	m.options.Publish = "everything"
	_, err := core.Open(t.Context(), m.options)
	require.ErrorContains(t, err, `Options.Publish is "everything", want "markdown", "all" or "nothing"`)
}

// A memoryShared is a storage in memory, with a log.
type memoryShared struct {
	storage int64
	log     []store.Change
	refuses string // the call that fails
}

func (s *memoryShared) refused(call string) error {
	if s.refuses == call {
		return errors.New("storage is full: " + call)
	}
	return nil
}

func (s *memoryShared) Name() string { return "in memory" }

func (s *memoryShared) Owned(_ context.Context, owner string) ([]store.Record, error) {
	owned := map[string]store.Record{}
	for _, c := range s.log {
		if c.Owner == owner && c.Gone {
			delete(owned, c.Record.ID)
		} else if c.Owner == owner {
			c.Record.Vector = nil
			owned[c.Record.ID] = c.Record
		}
	}
	return slices.Collect(maps.Values(owned)), s.refused("owned")
}

func (s *memoryShared) Publish(_ context.Context, owner, embedder string, put, gone []store.Record) error {
	if err := s.refused("publish"); err != nil {
		return err
	}
	for _, r := range put {
		s.log = append(s.log, store.Change{Owner: owner, Embedder: embedder, Record: r})
	}
	for _, r := range gone {
		s.log = append(s.log, store.Change{Owner: owner, Gone: true, Record: r})
	}
	return nil
}

func (s *memoryShared) Changes(_ context.Context, owner string, since store.Cursor) ([]store.Change, store.Cursor, error) {
	next := store.Cursor{"": s.storage}
	if since.Storage() != s.storage {
		since = nil
	}
	var changes []store.Change
	for i, c := range s.log {
		if c.Owner == owner {
			continue
		}
		next[c.Owner] = int64(i + 1)
		if int64(i+1) > since[c.Owner] {
			changes = append(changes, c)
		}
	}
	return changes, next, nil
}

func (s *memoryShared) Close() error { return nil }
