package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a configuration says, it is taken or refused with the name of the setting or of the file; and what a stranger's project says changes nothing
// that is not its to say.
func FuzzSettings(f *testing.F) {
	for _, seed := range [][2]string{
		{"memory:\n  limit: 3\n  embedder: none\n", "memory:\n  fileNames: [AGENTS.md]\n  topK: 9\n  exclude: [tmp]\n"},
		{"memory: 7\n", "memory:\n  embedder: openai\n  openai:\n    baseURL: http://elsewhere/v1\n    model: m\n"},
		{"memory:\n  hook:\n    budget: 5h\n", "memory:\n  \"\": 1\n  MEMORY: {}\n"},
		{"other: [1, 2]\nmemory: {limit: 1e99}\n", "memory: {enabled: off, indexdir: /tmp/x, injection: {policy: off}}\n"},
		{"a: &a [*a]\n", "memory:\n  limit: !!binary aGk=\n  trust: {folders: [/]}\n"},
		{"memory:\n  enabled: \xff\n", "<<: {memory: {engine: lancedb}}\n"},
		{"memory:\n  folderTrust:\n    enabled: false\n", "memory:\n  topK: 9\n"},
		{"memory:\n  folderTrust:\n    enabled: false\n", "memory:\n  topK: 0\n"},
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
		a := &app{home: home, project: own}
		got, err := loadSettings(a)
		require.NoError(t, os.Remove(filepath.Join(own, ".beans", "config.yaml")))
		alone, errAlone := loadSettings(a)
		// By the user's own file alone: no project can say of itself that it is trusted. What it sets then is the user's wish, but for what is
		// personal.
		trusts := errAlone == nil && (!alone.settings.FolderTrust.Enabled || len(alone.settings.FolderTrust.TrustedFolders) > 0)
		if err != nil {
			var usage *usageError
			require.True(t, errors.As(err, &usage), err)
			require.Regexp(t, `config\.yaml|^memory\.`, err.Error())
			require.True(t, errAlone != nil || trusts, "a stranger's file makes it fail: %v", err)
			return
		}
		require.NoError(t, errAlone)
		require.True(t, slices.Contains([]string{"frame", "withhold", "off"}, got.settings.Injection.Policy))
		require.Positive(t, got.settings.Limit)
		require.Positive(t, got.settings.TopK)
		for _, s := range knownSettings {
			if s.of == personal || s.of == trustedProject && !trusts {
				require.False(t, strings.Contains(got.origin[s.key], own), "%s is from %s", s.key, got.origin[s.key])
			}
		}
		require.Equal(t, alone.settings.Embedder, got.settings.Embedder)
		require.Equal(t, alone.settings.OpenAI, got.settings.OpenAI)
		require.Equal(t, alone.settings.IndexDir, got.settings.IndexDir)
		require.Equal(t, alone.settings.Injection, got.settings.Injection)
	})
}
