package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/kind"
)

// Any configuration is accepted, or refused with the name of the setting or file. A project's file
// changes only settings that it may set.
func FuzzSettings(f *testing.F) {
	for _, seed := range [][2]string{
		{"memory:\n  limit: 3\n  embedder: none\n", "memory:\n  fileNames: [AGENTS.md]\n  limit: 9\n  exclude: [tmp]\n"},
		{"memory: 7\n", "memory:\n  embedder: openai\n  openai:\n    baseURL: http://elsewhere/v1\n    model: m\n"},
		{"memory:\n  hook:\n    budget: 5h\n", "memory:\n  \"\": 1\n  MEMORY: {}\n"},
		{"other: [1, 2]\nmemory: {limit: 1e99}\n", "memory: {enabled: off, indexdir: /tmp/x, injection: {policy: off}}\n"},
		{"a: &a [*a]\n", "memory:\n  limit: !!binary aGk=\n  trust: {folders: [/]}\n"},
		{"memory:\n  enabled: \xff\n", "<<: {memory: {engine: lancedb}}\n"},
		{"memory:\n  folderTrust:\n    enabled: false\n", "memory:\n  limit: 9\n"},
		{"memory:\n  folderTrust:\n    enabled: false\n", "memory:\n  limit: 0\n"},
		{"memory:\n  folderTrust: {enabled: false, trustedFolders: [/]}\n", "memory:\n  limit: 9\n  embedder: none\n"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, user, project string) {
		dir := t.TempDir()
		home, own := filepath.Join(dir, "home"), filepath.Join(dir, "project")
		for folder, text := range map[string]string{home: user, own: project} {
			require.NoError(t, os.MkdirAll(filepath.Join(folder, ".beans"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(folder, ".beans", "config.yaml"), []byte(text), 0o600))
		}
		a := &Config{Home: home, Project: own}
		got, err := load(a)
		require.NoError(t, os.Remove(filepath.Join(own, ".beans", "config.yaml")))
		alone, errAlone := load(a)
		// Only the user's file can trust a project, which then sets everything but personal
		// settings.
		trusts := errAlone == nil && (!alone.Settings.FolderTrust.Enabled || len(alone.Settings.FolderTrust.TrustedFolders) > 0)
		if err != nil {
			require.Equal(t, kind.BadInput, kind.Of(err), err)
			require.Regexp(t, `config\.yaml|^memory\.`, err.Error())
			require.Error(t, errAlone, "the workspace's file makes it fail")
			return
		}
		require.NoError(t, errAlone)
		require.True(t, slices.Contains([]string{"frame", "withhold", "off"}, got.Settings.Injection.Policy))
		require.LessOrEqual(t, got.Settings.Lines, 8)
		for _, s := range Known {
			if s.Of == Personal || s.Of == TrustedProject && !trusts {
				require.False(t, strings.Contains(got.Origin[s.Key], own), "%s is from %s", s.Key, got.Origin[s.Key])
			}
		}
		require.Equal(t, alone.Settings.Embedder, got.Settings.Embedder)
		require.Equal(t, alone.Settings.OpenAI, got.Settings.OpenAI)
		require.Equal(t, alone.Settings.IndexDir, got.Settings.IndexDir)
		require.Equal(t, alone.Settings.Injection, got.Settings.Injection)
	})
}
