package source

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Documents of a folder in a repository, and of repositories in the folder, are dated by their
// paths in citations.
func TestCommitted(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: dates of commits are not tested")
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := tree(t, map[string]string{"docs/a.md": "a", "docs/in/b.md": "b", "docs/other/c.md": "c", "docs/new.md": "new"})
	commit := func(dir, day string, names ...string) {
		git(t, dir, "init", "-q")
		git(t, dir, append([]string{"add"}, names...)...)
		t.Setenv("GIT_COMMITTER_DATE", day+"T12:00:00Z")
		git(t, dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "commit", "-q", "-m", ".")
	}
	commit(filepath.Join(dir, "docs", "other"), "2026-09-03", "c.md")
	commit(dir, "2026-09-01", "docs/a.md", "docs/in/b.md")
	for _, path := range []string{filepath.Join(dir, "docs"), filepath.Join(dir, "docs", "a.md")} {
		f := NewFolder(FolderOptions{Path: path, Name: "@team"})
		docs := list(t, f).Documents
		found, err := f.Committed(t.Context(), docs)
		require.NoError(t, err)
		days := map[string]string{}
		for path, at := range found {
			days[path] = at.UTC().Format(time.DateOnly)
		}
		if len(docs) > 1 {
			require.Equal(t, map[string]string{"@team/a.md": "2026-09-01", "@team/in/b.md": "2026-09-01", "@team/other/c.md": "2026-09-03"}, days)
		} else {
			require.Equal(t, map[string]string{docs[0].Path: "2026-09-01"}, days)
		}
	}
}
