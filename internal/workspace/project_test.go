package workspace

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// now is when sessions of these tests last said something.
var now = time.Now().Add(time.Hour)

// linked makes a working directory of a repository, as "git worktree add" does.
func linked(t *testing.T, main, root string) {
	t.Helper()
	entry := filepath.Join(main, ".git", "worktrees", filepath.Base(root))
	for file, text := range map[string]string{
		filepath.Join(entry, "commondir"): "../..\n",
		filepath.Join(entry, "gitdir"):    filepath.Join(root, ".git") + "\n",
		filepath.Join(root, ".git"):       "gitdir: " + entry + "\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
}

// unlink removes a working directory, as "git worktree remove" does.
func unlink(t *testing.T, main, root string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(root))
	require.NoError(t, os.RemoveAll(filepath.Join(main, ".git", "worktrees", filepath.Base(root))))
}

func projectTree(t *testing.T, folders ...string) (path func(string) string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, folder := range folders {
		require.NoError(t, os.MkdirAll(filepath.Join(root, folder), 0o755))
	}
	return func(rel string) string { return filepath.Join(root, filepath.FromSlash(rel)) }
}

func TestProjectOfARepository(t *testing.T) {
	at := projectTree(t, "app/.git", "app/src", "app/vendored/.git", "app/notes/.beans", "application/.git", "plain/sub")
	beside, below := at("side"), at("app/.claude/worktrees/feat")
	linked(t, at("app"), beside)
	linked(t, at("app"), below)
	linked(t, at("application"), at("app/others"))
	for _, checkout := range []string{at("app"), beside, below} {
		p := ProjectOf(checkout)
		require.Equal(t, at("app"), p.Folder)
		require.Equal(t, checkout, p.Checkout)
		require.True(t, p.IsRepository())
		require.ElementsMatch(t, []string{below, beside}, p.Checkouts())
		require.Equal(t, at("app"), p.Documents())
	}
	holds := ProjectOf(beside).Holder()
	for folder, want := range map[string]bool{
		"app": true, "app/src": true, "app/gone/deep": true, "side": true, "side/src": true, "app/.claude/worktrees/feat/src": true,
		"app/.claude/worktrees/gone":  true,
		"app/vendored":                false, // another repository
		"app/vendored/lib":            false,
		"app/notes":                   false, // another workspace
		"app/others":                  false, // a working directory of another repository
		"application":                 false,
		"side2":                       false,
		".":                           false,
		"app-gone":                    false,
		"app/vendored/../src":         true,
		"app/src/../../application/x": false,
	} {
		require.Equal(t, want, holds(at(folder), now), folder)
	}
	require.NoError(t, os.Symlink(at("application"), at("app/link")))
	require.NoError(t, os.Symlink(at("app"), at("way")))
	require.False(t, holds(at("app/link/x"), now), "it leads to another project")
	require.True(t, holds(at("way/src"), now))
}

// Git forgets a removed working directory. memcore's state does not.
func TestWorkingDirectoriesThatAreGone(t *testing.T) {
	at := projectTree(t, "app/.git", "other/.git")
	gone := at("worktrees/a1/app")
	linked(t, at("app"), gone)
	unlink(t, at("app"), gone)
	require.False(t, ProjectOf(at("app")).Holder()(gone, now))
	p := ProjectOf(at("app")).With(Sources{Folders: []string{gone}}, nil)
	require.Equal(t, []string{at("app"), gone}, p.Folders())
	require.True(t, p.Holder()(filepath.Join(gone, "src"), now))

	// Another repository takes its place.
	linked(t, at("other"), gone)
	require.False(t, p.Holder()(gone, now))
	require.True(t, p.Holder()(filepath.Join(gone, "src"), now.Add(-48*time.Hour)), "it ran there before")
	left := p.Left()
	require.Len(t, left, 1)
	unlink(t, at("other"), gone)
	p = p.With(Sources{Folders: []string{gone}, Left: left}, nil)
	require.False(t, p.Holder()(gone, now), "the other's, though it is gone")
	require.True(t, p.Holder()(gone, now.Add(-48*time.Hour)))
	p = p.With(Sources{Folders: []string{gone}}, nil)
	require.NoError(t, os.MkdirAll(filepath.Join(gone, ".git"), 0o755))
	require.False(t, p.Holder()(gone, now))
	require.NoError(t, os.RemoveAll(gone))
	require.NoError(t, os.MkdirAll(gone, 0o755))
	require.False(t, p.Holder()(gone, now), "an ordinary folder may be of anything")
	require.True(t, p.Holder()(gone, now.Add(-48*time.Hour)), "what was left of the working directory")

	// What git has forgotten, but still names the repository, is no other project.
	linked(t, at("app"), gone)
	require.NoError(t, os.RemoveAll(at("app/.git/worktrees")))
	require.True(t, p.Holder()(gone, now))
	require.False(t, ProjectOf(at("app")).Holder()(gone, now), "it was never proven to be of the repository")
}

// What ran in a folder before the project came there is another's.
func TestProjectWhereAnotherWas(t *testing.T) {
	at := projectTree(t, "app/.git")
	p := ProjectOf(at("app")).With(Sources{Since: now.Add(-24 * time.Hour)}, nil)
	require.True(t, p.Holder()(at("app/src"), now))
	require.False(t, p.Holder()(at("app/src"), now.Add(-48*time.Hour)))
}

// What was another project stays that when it is gone, though its folder was in this one.
func TestOtherProjectsThatAreGone(t *testing.T) {
	at := projectTree(t, "app/.git", "app/vendored/.git", "app/notes/.beans", "lib/.git", "elsewhere/.git")
	linked(t, at("lib"), at("app/libside"))
	var seen Sources
	holder := func() func(string, time.Time) bool {
		return ProjectOf(at("app")).With(seen, func(other string) { seen.Others = append(seen.Others, other) }).Holder()
	}
	folders := []string{at("app/vendored/src"), at("app/notes"), at("app/libside")}
	for _, folder := range append(folders, at("elsewhere")) {
		require.False(t, holder()(folder, now), folder)
	}
	require.Equal(t, []string{at("app/vendored"), at("app/notes"), at("app/libside")}, seen.Others, "elsewhere is not in the project")
	unlink(t, at("lib"), at("app/libside"))
	require.NoError(t, os.RemoveAll(at("app/vendored")))
	require.NoError(t, os.RemoveAll(at("app/notes")))
	for _, folder := range folders {
		require.False(t, holder()(folder, now), folder)
	}
	require.True(t, holder()(at("app/gone"), now))
	require.NoError(t, os.MkdirAll(at("app/notes"), 0o755))
	require.True(t, holder()(at("app/notes"), now), "it is an ordinary folder of the project now")
}

// A download may claim to be a working directory of any repository.
func TestClaimToBeOfAProject(t *testing.T) {
	at := projectTree(t, "app/.git", "evil")
	linked(t, at("app"), at("side"))
	require.NoError(t, os.WriteFile(at("evil/.git"), []byte("gitdir: "+at("app/.git/worktrees/side")+"\n"), 0o644))
	require.Equal(t, at("evil"), ProjectOf(at("evil")).Folder)
	require.False(t, ProjectOf(at("app")).Holder()(at("evil"), now))
	require.False(t, ProjectOf(at("evil")).Holder()(at("app"), now))
}

func TestProjectWithoutGit(t *testing.T) {
	at := projectTree(t, "plain/sub", "plain/repository/.git")
	p := ProjectOf(at("plain"))
	require.Equal(t, at("plain"), p.Folder)
	require.Equal(t, at("plain"), p.Documents())
	require.False(t, p.IsRepository())
	require.Empty(t, p.Checkouts())
	holds := p.Holder()
	require.True(t, holds(at("plain/sub/gone"), now))
	require.False(t, holds(at("plain/repository"), now))
	require.False(t, holds(at("plainer"), now))
}

// A folder with .beans inside of a repository is the same workspace in each working directory.
func TestFolderOfARepository(t *testing.T) {
	at := projectTree(t, "app/.git", "app/services/api/.beans", "app/src", "side/services/api/.beans", "side/new/.beans")
	linked(t, at("app"), at("side"))
	p := ProjectOf(at("side/services/api"))
	require.Equal(t, at("app/services/api"), p.Folder)
	require.Equal(t, at("side/services/api"), p.Checkout)
	require.True(t, p.Holder()(at("side/services/api/x"), now))
	require.True(t, p.Holder()(at("app/services/api"), now))
	require.False(t, p.Holder()(at("app/src"), now))
	require.False(t, ProjectOf(at("app")).Holder()(at("side/services/api"), now))
	require.Equal(t, at("side/new"), ProjectOf(at("side/new")).Folder, "the main checkout has none")
}
