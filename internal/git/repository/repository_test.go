package repository

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// git runs the real program in a folder.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
}

func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// committed makes a repository with a commit.
func committed(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "x")
}

func folder(t *testing.T, root string) string {
	t.Helper()
	r, ok := Of(root)
	require.True(t, ok, root)
	return r.Folder
}

func TestWorkingDirectoriesOfARepository(t *testing.T) {
	dir := tempDir(t)
	main, beside, below := filepath.Join(dir, "main"), filepath.Join(dir, "side"), filepath.Join(dir, "main", ".claude", "worktrees", "feat")
	committed(t, main)
	git(t, main, "worktree", "add", "-q", beside, "-b", "side")
	git(t, main, "worktree", "add", "-q", below, "-b", "feat")
	for _, root := range []string{main, beside, below} {
		require.Equal(t, main, folder(t, root))
	}
	r, _ := Of(beside)
	require.Equal(t, []string{below, beside}, r.Linked())
	require.Equal(t, main, r.Primary())
	require.True(t, IsLinked(beside))
	require.False(t, IsLinked(main))
	require.False(t, IsLinked(dir))

	// A path that leads over a link is the same working directory.
	require.NoError(t, os.Symlink(dir, filepath.Join(dir, "link")))
	require.Equal(t, main, folder(t, filepath.Join(dir, "link", "side")))

	git(t, main, "worktree", "remove", "--force", below)
	require.Equal(t, []string{beside}, r.Linked())

	// Git forgets a working directory whose folder was moved by hand.
	require.NoError(t, os.Rename(beside, beside+"-moved"))
	require.Empty(t, r.Linked())
	require.Equal(t, beside+"-moved", folder(t, beside+"-moved"), "nothing names it")
	require.True(t, r.Names(beside+"-moved"))
	git(t, main, "worktree", "repair", beside+"-moved")
	require.Equal(t, main, folder(t, beside+"-moved"))
}

func TestPathsRelativeToTheRepository(t *testing.T) {
	dir := tempDir(t)
	main, side := filepath.Join(dir, "main"), filepath.Join(dir, "side")
	committed(t, main)
	git(t, main, "worktree", "add", "-q", side)
	write(t, filepath.Join(side, ".git"), "gitdir: ../main/.git/worktrees/side\n")
	write(t, filepath.Join(main, ".git", "worktrees", "side", "gitdir"), "../../../../side/.git\n")
	require.Equal(t, main, folder(t, side))
	r, _ := Of(main)
	require.Equal(t, []string{side}, r.Linked())

	// Both move together.
	require.NoError(t, os.Rename(dir, dir+"-moved"))
	require.Equal(t, dir+"-moved/main", filepath.ToSlash(folder(t, dir+"-moved/side")))
	require.NoError(t, os.Rename(dir+"-moved", dir))
}

func TestBareRepositories(t *testing.T) {
	dir := tempDir(t)
	from := filepath.Join(dir, "from")
	committed(t, from)
	for name, at := range map[string]struct{ bare, folder string }{
		"beside":    {"app.git", "app.git"},
		"hidden":    {"app/.bare", "app"},
		"named git": {"app/.git", "app"},
	} {
		t.Run(name, func(t *testing.T) {
			base := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
			bare, want := filepath.Join(base, at.bare), filepath.Join(base, at.folder)
			git(t, dir, "clone", "-q", "--bare", from, bare)
			if name == "hidden" {
				write(t, filepath.Join(want, ".git"), "gitdir: ./.bare\n")
			}
			main, feat := filepath.Join(base, "app", "zmain"), filepath.Join(base, "app", "feat")
			git(t, bare, "worktree", "add", "-q", main, "main")
			git(t, bare, "worktree", "add", "-q", feat, "-b", "feat")
			for _, root := range []string{main, feat, want} {
				require.Equal(t, want, folder(t, root))
			}
			r, _ := Of(feat)
			require.True(t, r.Bare)
			require.Equal(t, main, r.Primary(), "HEAD of the bare repository names its branch")
			git(t, bare, "worktree", "remove", "--force", main)
			require.Equal(t, feat, r.Primary())
			git(t, bare, "worktree", "remove", "--force", feat)
			require.Empty(t, r.Primary())
		})
	}
}

func TestSubmodules(t *testing.T) {
	dir := tempDir(t)
	lib, app, side := filepath.Join(dir, "lib"), filepath.Join(dir, "app"), filepath.Join(dir, "side")
	committed(t, lib)
	committed(t, app)
	git(t, app, "submodule", "--quiet", "add", lib, "deps/lib")
	git(t, app, "commit", "-q", "-m", "lib")
	sub := filepath.Join(app, "deps", "lib")
	require.Equal(t, app, folder(t, sub))
	require.False(t, IsLinked(sub))
	git(t, app, "worktree", "add", "-q", side)
	git(t, side, "submodule", "--quiet", "update", "--init")
	require.Equal(t, app, folder(t, filepath.Join(side, "deps", "lib")))
	git(t, sub, "worktree", "add", "-q", filepath.Join(dir, "libside"))
	require.Equal(t, app, folder(t, filepath.Join(dir, "libside")), "a working directory of a submodule")
	require.Equal(t, lib, folder(t, lib), "what it was cloned from is another repository")
}

func TestSeparateGitFolder(t *testing.T) {
	dir := tempDir(t)
	work, store := filepath.Join(dir, "work"), filepath.Join(dir, "store")
	git(t, dir, "init", "-q", "--separate-git-dir", store, work)
	r, ok := Of(work)
	require.True(t, ok)
	require.Equal(t, Repository{Folder: work}, r, "the git folder does not name it")
	git(t, work, "config", "core.worktree", work)
	git(t, work, "commit", "-q", "--allow-empty", "-m", "x")
	side := filepath.Join(dir, "side")
	git(t, work, "worktree", "add", "-q", side)
	require.Equal(t, work, folder(t, side))
}

// What comes with a download may claim to be of any repository.
func TestHostileClaims(t *testing.T) {
	dir := tempDir(t)
	other, side, mine := filepath.Join(dir, "other"), filepath.Join(dir, "side"), filepath.Join(dir, "mine")
	committed(t, other)
	git(t, other, "worktree", "add", "-q", side)
	otherGit := filepath.Join(other, ".git")
	tests := map[string]func(){
		"the working directory of another": func() {
			write(t, filepath.Join(mine, ".git"), "gitdir: "+otherGit+"/worktrees/side\n")
		},
		"the git folder of another": func() { write(t, filepath.Join(mine, ".git"), "gitdir: "+otherGit+"\n") },
		"own git folder with another's shared one": func() {
			write(t, filepath.Join(mine, ".git"), "gitdir: own/worktrees/x\n")
			write(t, filepath.Join(mine, "own/worktrees/x/commondir"), otherGit+"\n")
			write(t, filepath.Join(mine, "own/worktrees/x/gitdir"), filepath.Join(mine, ".git")+"\n")
		},
		"a .git folder with another's shared one": func() {
			write(t, filepath.Join(mine, ".git", "commondir"), otherGit+"\n")
			write(t, filepath.Join(mine, ".git", "HEAD"), "ref: refs/heads/main\n")
		},
		"a link to another": func() {
			require.NoError(t, os.MkdirAll(mine, 0o755))
			require.NoError(t, os.Symlink(otherGit, filepath.Join(mine, ".git")))
		},
		"a git folder that names another": func() {
			write(t, filepath.Join(mine, ".git"), "gitdir: own\n")
			write(t, filepath.Join(mine, "own", "config"), "[core]\n\tworktree = "+other+"\n\tbare = false\n")
		},
		"a bare repository that names another": func() {
			write(t, filepath.Join(mine, "HEAD"), "ref: refs/heads/main\n")
			write(t, filepath.Join(mine, "objects", "x"), "")
			write(t, filepath.Join(mine, "config"), "[core]\n\tbare = true\n\tworktree = "+other+"\n")
		},
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.RemoveAll(mine))
			make()
			r, ok := Of(mine)
			require.True(t, ok)
			require.Equal(t, mine, r.Folder)
			require.NotContains(t, r.Linked(), side)
			theirs, _ := Of(other)
			require.Equal(t, []string{side}, theirs.Linked())
		})
	}
	// A submodule's folder of the repository around it, which names the submodule.
	lib, evil := filepath.Join(dir, "lib"), filepath.Join(other, "download")
	committed(t, lib)
	git(t, other, "submodule", "--quiet", "add", lib, "sub")
	write(t, filepath.Join(evil, ".git"), "gitdir: ../.git/modules/sub\n")
	require.Equal(t, evil, folder(t, evil))
	// Claims of another's repository to own a folder.
	write(t, filepath.Join(otherGit, "worktrees", "claimed", "gitdir"), filepath.Join(lib, ".git")+"\n")
	write(t, filepath.Join(otherGit, "worktrees", "claimed", "commondir"), "../..\n")
	theirs, _ := Of(other)
	require.Equal(t, []string{side}, theirs.Linked())
}

// Any value is on one line and not longer than the configuration.
func FuzzSetting(f *testing.F) {
	for _, seed := range []string{"[core]\nexcludesfile = ~/x\n", "[core \"x\"]\nexcludesfile=a", "[core]excludesfile=\"a\\\"#b\" ;c", "[core\nexcludesfile=", "excludesfile=x", "[core]\n\\", "[core]\nexcludesfile"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, config string) {
		value := Setting([]byte(config), "core", "excludesfile")
		if strings.Contains(value, "\n") || len(value) > len(config) {
			t.Errorf("%q has %q", config, value)
		}
	})
}
