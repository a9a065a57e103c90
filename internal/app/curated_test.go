package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/app/apptest"
)

// The default settings are those of the library.
func TestStaticDefaults(t *testing.T) {
	w := withSettings(t, "")
	s, got := w.Settings, w.Curated().Options(nil)
	require.Equal(t, curated.DefaultNames, got.Names)
	require.Nil(t, got.Plugins)
	require.Equal(t, curated.DefaultExclude, got.Exclude)
	require.Equal(t, 5, got.ImportDepth)
	require.Equal(t, curated.Limits{Lines: 200, Tokens: 12_800}, curated.New(got).Limits())
	require.Equal(t, []any{".beans", false, false, false, false, filepath.Join(w.Home, ".beans")}, []any{got.Folder, got.NoParents, got.Children, got.NoLocal, got.NoImports, got.Beans})
	require.True(t, s.FolderTrust.Enabled)
	require.Empty(t, s.FolderTrust.TrustedFolders)
	require.Equal(t, 2, got.Count("two words"), "tokens are counted, not estimated")
	require.Greater(t, got.Count(strings.Repeat("x7", 300)), 150, "encoded data is not one token")

	w = withSettings(t, "memory: {fileName: MEMORY.md, maxImportDepth: 3, maxLines: 0, home: ~/notes, default_limit: 9}")
	require.Empty(t, w.Ignored, "names of the settings as the seeds have them")
	require.Equal(t, 9, w.Settings.DefaultLimit)
	got = w.Curated().Options(nil)
	require.Equal(t, []any{"MEMORY.md", 3, -1, filepath.Join(w.Home, "notes")}, []any{got.Names[0], got.ImportDepth, got.Limits.Lines, got.Beans})
	w = withSettings(t, "memory: {memoryFileName: CONTEXT.md}")
	require.Empty(t, w.Ignored)
	require.Equal(t, []string{"CONTEXT.md"}, w.Settings.FileNames)
}

// withSettings returns a workspace with a configuration file of the user.
func withSettings(t *testing.T, text string) *Workspace {
	t.Helper()
	w := at(apptest.Project(t, nil))
	beans := filepath.Join(os.Getenv("HOME"), ".beans")
	require.NoError(t, os.MkdirAll(beans, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(beans, "config.yaml"), []byte(text), 0o600))
	require.NoError(t, w.Prepare())
	return w
}
