package app

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/view"
)

func TestOverviewSumsUp(t *testing.T) {
	s := openTestService(t, map[string]string{
		"a.md":     "# Staging\n\nThe staging database listens on port 5433.\n",
		"b.md":     "# Fähre\n\nDie Fähre fährt am Morgen von der Brücke ab, und sie ist nicht pünktlich.\n",
		"BEANS.md": "Ours.", "notes/about-me.md": "# About me\n\nI am Ada, and I work on the booking service.\n",
	})
	empty, err := s.Page().Overview(t.Context())
	require.NoError(t, err)
	require.Equal(t, core.StateMissing, empty.Status.State)
	_, err = s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	for _, path := range []string{"a.md", "b.md", "b.md", "b.md"} {
		e := hook.Event{Agent: "claude-code", Session: "s", Kind: hook.Prompt}.Entry(time.Now(), true)
		e.Took, e.Given = "1ms", []journal.Given{{Kind: journal.Passage, Key: "x", Path: path}}
		require.NoError(t, s.at.Journal().Append(t.Context(), e))
	}
	asked := 0
	s.Glance = func(_ context.Context, _ *Workspace, m curated.Memory, known core.Status) []view.Check {
		asked++
		require.Equal(t, s.Project, m.Project)
		return []view.Check{{Name: "index", State: "problem", Text: string(known.State)}}
	}

	o, err := s.Page().Overview(t.Context())
	require.NoError(t, err)
	documents := 0
	for _, kind := range o.Sums.Kinds {
		documents += kind.Documents
	}
	require.Equal(t, o.Sums.Documents, documents)
	require.Equal(t, 1, o.Languages["de"])
	require.Equal(t, []journal.DocumentCounts{{Path: "b.md", Counts: journal.Counts{Given: 3}}, {Path: "a.md", Counts: journal.Counts{Given: 1}}}, o.Use.Documents)
	require.Equal(t, "minilm", o.Models[0].Name)
	require.Len(t, o.AboutUser, 1)
	require.Contains(t, o.AboutUser[0].Text, "I am Ada")
	require.Equal(t, []view.Check{{Name: "index", State: "problem", Text: "ready"}}, o.Checks)
	require.Equal(t, 1, asked)
}

func TestDocumentsComeInPages(t *testing.T) {
	s := openTestService(t, map[string]string{"notes/a.md": "# One\n\nThe first.\n", "notes/B.md": "# Two\n\nThe second.\n", "c.md": "# Three\n\nThe third.\n"})
	for i, name := range []string{"notes/a.md", "notes/B.md", "c.md"} {
		day := time.Date(2026, 11, 10+i, 12, 0, 0, 0, time.Local)
		require.NoError(t, os.Chtimes(filepath.Join(s.Project, filepath.FromSlash(name)), day, day))
	}
	_, err := s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	for _, tt := range []struct {
		asked core.DocumentsOptions
		found int
		want  []string
	}{
		{core.DocumentsOptions{}, 3, []string{"c.md", "notes/B.md", "notes/a.md"}},
		{core.DocumentsOptions{Limit: 2}, 3, []string{"c.md", "notes/B.md"}},
		{core.DocumentsOptions{Limit: 2, Skip: 2}, 3, []string{"notes/a.md"}},
		{core.DocumentsOptions{Skip: 9}, 3, nil},
		{core.DocumentsOptions{Find: "NOTES/b"}, 1, []string{"notes/B.md"}},
		{core.DocumentsOptions{Kind: "conversation"}, 0, nil},
		{core.DocumentsOptions{Source: "elsewhere"}, 0, nil},
	} {
		got, found, err := s.Page().Documents(t.Context(), tt.asked)
		require.NoError(t, err)
		require.Equal(t, tt.found, found, tt.asked)
		var paths []string
		for _, d := range got {
			paths = append(paths, d.Path)
		}
		require.Equal(t, tt.want, paths, tt.asked)
	}
}
