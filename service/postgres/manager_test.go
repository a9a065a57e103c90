package postgres_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/service/postgres"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// The documents of testdata, of two scopes, are answered from the database as from a folder: the
// same hits and lines, with the same scores.
func TestAnswersAsAFolderDoes(t *testing.T) {
	w := newWorld(t)
	model := minilm.New()
	dir := t.TempDir()
	folder := filepath.Join(dir, "documents")
	// Links between notes are left out: the service does not follow them yet.
	require.NoError(t, os.CopyFS(folder, os.DirFS("../../testdata/workspace")))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "@ops"), 0o755))
	require.NoError(t, os.Rename(filepath.Join(folder, "notes"), filepath.Join(folder, "@ops", "notes")))
	past := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	require.NoError(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			err = os.Chtimes(path, past, past)
		}
		return err
	}))
	files := source.NewFolder(source.FolderOptions{Path: folder, Workspace: folder})
	quiet := slog.New(slog.DiscardHandler)
	local, err := core.Open(t.Context(), core.Options{Folder: filepath.Join(dir, "index"), Sources: []source.Source{files}, Embedder: model, Freshness: -1, Logger: quiet,
		Engine: store.Engine{Name: "flat",
			Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
				return flat.Open(ctx, dir, dimension)
			},
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		}})
	require.NoError(t, err)
	defer local.Close()
	_, err = local.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)

	cutter, err := core.NewCutter(core.CutterOptions{Embedder: model, Logger: quiet})
	require.NoError(t, err)
	scale, err := core.MeasureScale(t.Context(), model)
	require.NoError(t, err)
	e := postgres.Embedder{Fingerprint: model.Fingerprint(), Dimension: 384, Scale: scale}
	listing, err := files.List(t.Context())
	require.NoError(t, err)
	for _, listed := range listing.Documents {
		text, err := os.ReadFile(listed.File)
		require.NoError(t, err)
		doc, content, err := source.Parse(t.Context(), source.Document{Path: listed.Path, Scope: listed.Scope, ModTime: listed.ModTime}, text)
		require.NoError(t, err)
		cut, err := cutter.Cut(doc, content)
		require.NoError(t, err)
		records, _ := cut.Replace(nil)
		if _, err := core.EmbedRecords(t.Context(), model, records); err != nil {
			t.Fatal(err)
		}
		c := postgres.Change{Path: doc.Path, Text: string(text), Records: records, Digest: cut.Digest}
		c.Indexed, err = json.Marshal(cut.Document)
		require.NoError(t, err)
		for _, words := range keyword.Analyse(records) {
			c.Words = append(c.Words, words.Append(nil))
		}
		_, err = w.db.Write(t.Context(), w.as("ann", "ops"), []postgres.Change{c}, postgres.Write{By: "ann/key", Embedder: e.Fingerprint})
		require.NoError(t, err)
	}
	p := w.as("ann", "ops")
	require.Len(t, p.Scopes, 2)
	elsewhere, err := core.Open(t.Context(), core.Options{Embedder: model, Logger: quiet, Contents: func(ctx context.Context) (core.Contents, error) { return w.db.Contents(ctx, p, e) }})
	require.NoError(t, err)
	defer elsewhere.Close()

	questions, err := os.ReadFile("../../testdata/eval/workspace.yaml")
	require.NoError(t, err)
	asked, hits := 0, 0
	for line := range strings.Lines(string(questions)) {
		_, query, found := strings.Cut(strings.TrimSpace(line), "query: ")
		if !found {
			continue
		}
		asked++
		var answers [2]core.Result
		for i, m := range []*core.Manager{local, elsewhere} {
			answers[i], err = m.RetrieveRelevant(t.Context(), query, core.RetrieveOptions{Lines: core.MaxLines, Now: past.AddDate(0, 1, 0)})
			require.NoError(t, err)
		}
		require.Equal(t, len(answers[0].Hits), len(answers[1].Hits), query)
		require.Equal(t, answers[0].Lines, answers[1].Lines, query)
		for i, hit := range answers[0].Hits {
			hits++
			got := answers[1].Hits[i]
			require.Equal(t, hit.Source, got.Source, query)
			require.InDelta(t, hit.Score, got.Score, 1e-4, query)
		}
	}
	require.Greater(t, asked, 20)
	require.Greater(t, hits, 20)
	paths := slices.Sorted(mapKeys(w.texts(w.as("bob"))))
	require.NotContains(t, strings.Join(paths, " "), "@ops")
}
