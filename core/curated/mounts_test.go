package curated_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/curated"
)

// onlyFolders trusts some folders and what is below.
type onlyFolders []string

func (o onlyFolders) Covering(folder string) (string, error) {
	for _, root := range o {
		if rel, err := filepath.Rel(root, folder); err == nil && filepath.IsLocal(rel) {
			return root, nil
		}
	}
	return "", nil
}

// Mounts come before the project under their own names, if they are trusted, and import nothing of
// folders that are not.
func TestMounts(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range map[string]string{
		"project/BEANS.md": "- Of the project.\n@../web/secret.md\n", "project/.git/x": "", "ops/BEANS.md": "- Of ops.\n@more.md\n@../web/secret.md\n", "ops/more.md": "More of ops.",
		"ops/.beans/rules/go.md": "---\nglobs: '*.go'\n---\nOf Go.", "web/BEANS.md": "- Of web.", "web/secret.md": "Secret of web.",
	} {
		file := filepath.Join(base, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	at := func(name string) string { return filepath.Join(base, name) }
	layer := curated.New(curated.Options{Dir: at("project"), Trust: onlyFolders{at("project"), at("ops")},
		Mounts: []curated.Mount{{Name: "@ops", Folder: at("ops")}, {Name: "@web", Folder: at("web")}, {Name: "@none", Folder: at("none")}}})
	m, err := layer.Load(t.Context())
	require.NoError(t, err)
	require.Regexp(t, `(?s)Of ops.*More of ops.*Of the project`, m.ProjectContext())
	require.NotContains(t, m.ProjectContext(), "Of web")
	require.NotContains(t, m.ProjectContext(), "Secret of web")
	var given, shown []string
	for _, f := range m.Files {
		if shown = append(shown, f.Path); f.Reason == "" {
			given = append(given, f.Path)
		}
	}
	require.Equal(t, []string{"@ops/BEANS.md", "BEANS.md"}, given)
	require.Contains(t, shown, "@ops/.beans/rules/go.md")
	for _, w := range m.Warnings {
		require.NotContains(t, w.Path, base)
	}
	now, err := layer.Now(t.Context(), curated.Moment{Touched: []string{"a.go"}})
	require.NoError(t, err)
	require.Contains(t, now.ProjectContext(), "Of Go.")
}
