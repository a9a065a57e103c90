package curated

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExposed(t *testing.T) {
	w := newFixture(t, map[string]string{"BEANS.md": "a", "BEANS.local.md": "b", ".beans/BEANS.local.md": "c", "CLAUDE.local.md": "d", ".gitignore": "dist"})
	w.options.Names = []string{"BEANS.md", "CLAUDE.md"}
	exposed := func() (l *Layer, names map[string][]string, all []Exposed) {
		t.Helper()
		l = New(w.options)
		m, err := l.Load(t.Context())
		require.NoError(t, err)
		all, err = l.Exposed(m)
		require.NoError(t, err)
		names = map[string][]string{}
		for _, e := range all {
			folder, err := filepath.Rel(w.project, filepath.Dir(e.Ignore))
			require.NoError(t, err)
			names[folder] = e.Names
		}
		return l, names, all
	}
	_, names, all := exposed()
	require.Equal(t, map[string][]string{".": {"BEANS.local.md", "CLAUDE.local.md"}, ".beans": {"BEANS.local.md"}}, names)
	for _, e := range all {
		require.True(t, e.Trusted)
		require.NoError(t, e.KeepOutOfGit())
		data, err := os.ReadFile(e.Ignore)
		require.NoError(t, err)
		require.Equal(t, e.Text, string(data))
	}
	_, names, _ = exposed()
	require.Empty(t, names)

	// Without private files there is no .gitignore file.
	require.NoError(t, os.Remove(w.path(".beans/.gitignore")))
	w.write(".gitignore", ".beans/\n*.local.md\n!CLAUDE.local.md\n")
	_, names, _ = exposed()
	require.Equal(t, map[string][]string{".": {"CLAUDE.local.md"}}, names)
	w.write(".git/info/exclude", "CLAUDE.local.md\n")
	_, names, _ = exposed()
	require.Equal(t, map[string][]string{".": {"CLAUDE.local.md"}}, names, ".gitignore counts before info/exclude")
	w.write(".gitignore", ".beans\nBEANS.local.md\n")
	_, names, _ = exposed()
	require.Empty(t, names)
	require.NoError(t, os.Remove(w.path(".git/info/exclude")))
	w.options.GitIgnores = w.path("mine.txt")
	w.write("mine.txt", "CLAUDE.*\n")
	_, names, _ = exposed()
	require.Empty(t, names)
	w.options.GitIgnores = ""

	// Untrusted folders and read-only files are not written.
	_, _, all = exposed()
	require.NoError(t, os.Chmod(w.path(".gitignore"), 0o444))
	require.ErrorContains(t, all[0].KeepOutOfGit(), "read-only")
	require.NoError(t, os.Chmod(w.path(".gitignore"), 0o644))
	w.options.Trust = nil
	_, _, all = exposed()
	require.False(t, all[0].Trusted)
	require.ErrorIs(t, all[0].KeepOutOfGit(), errUntrusted)
	data, err := os.ReadFile(w.path(".gitignore"))
	require.NoError(t, err)
	require.Equal(t, ".beans\nBEANS.local.md\n", string(data))
}

// A worktree uses the repository's info/exclude.
func TestExposedInWorktrees(t *testing.T) {
	w := newFixture(t, map[string]string{"BEANS.md": "a", "BEANS.local.md": "b"})
	require.NoError(t, os.RemoveAll(w.path(".git")))
	main := filepath.Join(w.base, "main", ".git")
	own := filepath.Join(main, "worktrees", "x")
	require.NoError(t, os.MkdirAll(own, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(main, "info"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(own, "commondir"), []byte("../..\n"), 0o644))
	w.write(".git", "gitdir: "+own+"\n")
	count := func() int {
		l := New(w.options)
		m, err := l.Load(t.Context())
		require.NoError(t, err)
		all, err := l.Exposed(m)
		require.NoError(t, err)
		return len(all)
	}
	require.Equal(t, 1, count())
	require.NoError(t, os.WriteFile(filepath.Join(main, "info", "exclude"), []byte("*.local.md\n"), 0o644))
	require.Zero(t, count())
}

// A file with a key is given as it is, and named once, with its line.
func TestSecretsAreNamed(t *testing.T) {
	w := newFixture(t, map[string]string{
		"BEANS.md":       "Use tabs.",
		"BEANS.local.md": "---\npriority: 1\n---\n# Mine\n\npassword: Hj7kQ29xLm4\napi_key: sk-ant-api03-x9Kd02mZpQ7vR4tY8wLb",
	})
	m := w.load()
	require.Contains(t, text(m), "Hj7kQ29xLm4")
	require.Len(t, m.Warnings, 1)
	require.True(t, m.Warnings[0].Secret)
	require.Regexp(t, `^BEANS.local.md:6: this looks like a secret \(.*password.*\), and every agent`, m.Warnings[0].String())
}
