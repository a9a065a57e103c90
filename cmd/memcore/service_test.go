package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/httpapi"
)

// What keeps a memory open, from before its first index on, goes on with that of its own engine, and opens it anew when another one
// has made it.
func TestServiceFollowsTheEngineOfItsIndex(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "home"))
	t.Setenv("USERPROFILE", filepath.Join(dir, "home"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("LOCALAPPDATA", filepath.Join(dir, "cache"))
	t.Setenv("MEMCORE_ENGINE", "flat")
	project := filepath.Join(dir, "project")
	for _, folder := range []string{filepath.Join(dir, "home"), filepath.Join(project, ".git")} {
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(project, "notes.md"), []byte("# Staging\n\nIt listens on port 5433.\n"), 0o600))
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, cwd: project}
	s, err := a.openService(t.Context(), project)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.False(t, s.Outdated())
	_, err = s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	require.False(t, s.Outdated(), "after its own first index")

	manifests, err := filepath.Glob(filepath.Join(s.at.index, "*", "manifest.json"))
	require.NoError(t, err)
	require.NotEmpty(t, manifests)
	for _, file := range manifests {
		require.NoError(t, rewriteManifest(file, `"engine":"[a-z]*"`, `"engine":"lancedb"`))
	}
	require.True(t, s.Outdated(), "after one of another engine")
}
