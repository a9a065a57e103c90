package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A person may name a document as a citation does, or as the shell has its file.
func TestTypedDocument(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	project, home := filepath.Join(root, "home", "project"), filepath.Join(root, "home")
	for _, file := range []string{"a.md", "notes/a.md", "notes/deep/b.md"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(project, file)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(project, file), nil, 0o600))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".codex"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "other.md"), nil, 0o600))
	link := filepath.Join(root, "link")
	require.NoError(t, os.Symlink(project, link))
	for _, tt := range []struct{ cwd, typed, want string }{
		{"", "", ""},
		{"", ".", ""},
		{"", project, ""},
		{"", "notes", "notes"},
		{"", "notes/", "notes"},
		{"", "notes/a.md", "notes/a.md"},
		{"", filepath.Join(project, "notes", "a.md"), "notes/a.md"},
		{"", "~/project/notes/a.md", "notes/a.md"},
		{"", filepath.Join(link, "notes", "a.md"), "notes/a.md"},
		{"", "~/.codex/gone.jsonl", "~/.codex/gone.jsonl"},
		{"", filepath.Join(home, ".codex", "gone.jsonl"), "~/.codex/gone.jsonl"},
		{"", "../.codex", "~/.codex"},
		{"", "../../other.md", filepath.ToSlash(filepath.Join(root, "other.md"))},
		{"", "../absent.md", "~/absent.md"},
		{"", "session:x/messages.jsonl", "session:x/messages.jsonl"},
		{"notes", ".", "notes"},
		{"notes", "..", ""},
		{"notes", "deep/b.md", "notes/deep/b.md"},
		{"notes", "notes/deep/b.md", "notes/deep/b.md"},
		{"notes", "a.md", "notes/a.md"}, // which is what the shell completes
		{"notes", "./a.md", "notes/a.md"},
		{"notes", "absent.md", "absent.md"},
	} {
		c := &Config{Project: project, Checkout: project, Home: home, Cwd: filepath.Join(project, tt.cwd)}
		if got := c.TypedDocument(tt.typed); got != tt.want {
			t.Errorf("in %q, TypedDocument(%q) = %q, want %q", tt.cwd, tt.typed, got, tt.want)
		}
	}
	c := &Config{Project: project, Checkout: project, Home: home, Cwd: filepath.Join(project, "notes")}
	require.Equal(t, "notes/deep/b.md#L3-L4", c.TypedPassage("deep/b.md#L3-4"))
	require.Equal(t, "k3f9a-12", c.TypedPassage("k3f9a-12"))
}
