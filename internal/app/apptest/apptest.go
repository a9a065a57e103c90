// Package apptest makes workspaces for tests.
package apptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// Project makes a Git repository with files, beside an empty home, cache and state, and returns
// its folder.
func Project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{"HOME": "home", "USERPROFILE": "home", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": "state", "LOCALAPPDATA": "cache"} {
		t.Setenv(name, filepath.Join(dir, value))
	}
	t.Setenv("MEMCORE_FRESHNESS", "30s") // machines may be busy
	project := filepath.Join(dir, "project")
	for _, folder := range []string{filepath.Join(dir, "home"), filepath.Join(project, ".git")} {
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
	for name, text := range files {
		file := filepath.Join(project, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return project
}

// RewriteManifest replaces text in a manifest, and mends its checksum.
func RewriteManifest(file, expression, replacement string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var frame struct {
		Kind    string
		Format  int
		Content json.RawMessage
	}
	if err := json.Unmarshal(data, &frame); err != nil {
		return err
	}
	changed := regexp.MustCompile(expression).ReplaceAll(frame.Content, []byte(replacement))
	if bytes.Equal(frame.Content, changed) {
		return fmt.Errorf("%s has nothing to change: %s", file, data)
	}
	format := store.ManifestFormat{Kind: frame.Kind, Number: frame.Format}
	if data, err = format.Encode(filepath.Dir(file), json.RawMessage(changed)); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}
