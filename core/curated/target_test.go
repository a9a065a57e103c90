package curated

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTargets(t *testing.T) {
	w := newFixture(t, nil)
	target := func(global, private bool) Target {
		t.Helper()
		got, err := New(w.options).Target(global, private)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, "BEANS.md", target(false, false).Path)
	require.Equal(t, "BEANS.local.md", target(false, true).Path)
	require.Equal(t, "~/.beans/BEANS.md", target(true, false).Path)
	w.write(".beans/BEANS.md", "hidden")
	require.Equal(t, ".beans/BEANS.md", target(false, false).Path, "what is there is written to")
	require.Equal(t, ".beans/BEANS.local.md", target(false, true).Path)
	w.write("BEANS.md", "root")
	require.Equal(t, "BEANS.md", target(false, false).Path)
	w.options.Names = []string{"NEW.md", "BEANS.md"}
	require.Equal(t, "BEANS.md", target(false, false).Path)

	w.options.Home, w.options.Beans = "", ""
	_, err := New(w.options).Target(true, false)
	require.ErrorContains(t, err, "no home folder")
}

func TestTargetsStayInside(t *testing.T) {
	w := newFixture(t, map[string]string{"AGENTS.md": "agents", "secrets.md": "s", "x.txt": "t"})
	outside := filepath.Join(w.base, "outside.md")
	require.NoError(t, os.WriteFile(outside, []byte("outside"), 0o644))
	for link, want := range map[string]string{outside: "link out of", "secrets.md": "never written", "x.txt": "only .md files", "../outside.md": "link out of"} {
		w.link(link, "BEANS.md")
		target, err := New(w.options).Target(false, false)
		require.NoError(t, err)
		_, _, err = target.Place()
		require.ErrorContains(t, err, want)
		require.NoError(t, os.Remove(w.path("BEANS.md")))
	}
	w.link("AGENTS.md", "BEANS.md")
	target, err := New(w.options).Target(false, false)
	require.NoError(t, err)
	dir, name, err := target.Place()
	require.NoError(t, err)
	require.Equal(t, []string{w.project, "AGENTS.md"}, []string{dir, name}, "a link inside of the project is followed")
}

func TestKeepOutOfGit(t *testing.T) {
	w := newFixture(t, map[string]string{".gitignore": "dist"})
	target, err := New(w.options).Target(false, true)
	require.NoError(t, err)
	for i, want := range []string{w.path(".gitignore"), ""} {
		changed, err := target.KeepOutOfGit()
		require.NoError(t, err)
		require.Equal(t, want, changed, i)
	}
	data, err := os.ReadFile(w.path(".gitignore"))
	require.NoError(t, err)
	require.Equal(t, "dist\nBEANS.local.md\n", string(data))
	w.write(".gitignore", "*.local.md\n")
	changed, err := target.KeepOutOfGit()
	require.NoError(t, err)
	require.Empty(t, changed, "a pattern that covers it is enough")
	target, err = New(w.options).Target(true, true)
	require.NoError(t, err)
	changed, err = target.KeepOutOfGit()
	require.NoError(t, err)
	require.Empty(t, changed, "the home folder is no repository")

	require.NoError(t, os.Remove(w.path(".gitignore")))
	want := ""
	for _, name := range []string{"#n.md", "!n.md", "[ab].md"} {
		w.options.Names = []string{name}
		target, err = New(w.options).Target(false, true)
		require.NoError(t, err)
		for range 2 {
			_, err = target.KeepOutOfGit()
			require.NoError(t, err)
		}
		want += `\` + LocalName(name) + "\n"
	}
	data, err = os.ReadFile(w.path(".gitignore"))
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(want, "]", `\]`), string(data), "names are no patterns, and are there once")
	w.options.Names = []string{"a\nb.md"}
	target, err = New(w.options).Target(false, true)
	require.NoError(t, err)
	_, err = target.KeepOutOfGit()
	require.ErrorContains(t, err, "line break")
}

// git commits what it tracks, even if .gitignore matches.
func TestTrackedFilesAreNotKeptOut(t *testing.T) {
	w := newFixture(t, map[string]string{"sub/BEANS.local.md": "p", "a/BEANS.md": "a", "sub/inner/.git/HEAD": ""})
	target := func(dir string) Target {
		t.Helper()
		w.options.Dir, w.options.NoParents = w.path(dir), true
		target, err := New(w.options).Target(false, true)
		require.NoError(t, err)
		target.File = filepath.Join(w.options.Dir, "BEANS.local.md")
		return target
	}
	// An index with the one entry "sub/BEANS.local.md".
	name := "sub/BEANS.local.md"
	index := "DIRC\x00\x00\x00\x02\x00\x00\x00\x01" + strings.Repeat("\x00", 60) + "\x00" + string(rune(len(name))) + name
	index += strings.Repeat("\x00", 8-(62+len(name))%8) + strings.Repeat("\x00", 20)
	w.write(".git/index", index)
	_, err := target("sub").KeepOutOfGit()
	require.ErrorContains(t, err, "git tracks it: take it out with 'git rm --cached BEANS.local.md' in "+w.path("sub"))
	require.NoFileExists(t, w.path("sub/.gitignore"), "that would not help")
	_, err = target("a").KeepOutOfGit()
	require.NoError(t, err)
	require.FileExists(t, w.path("a/.gitignore"))
	w.write(".git/index", strings.Replace(index, name, "sub/inner/BEANS.md", 1))
	_, err = target("sub/inner").KeepOutOfGit()
	require.NoError(t, err)

	w.write(".git/index", "DIRC")
	_, err = target("sub").KeepOutOfGit()
	require.ErrorContains(t, err, "cannot tell")
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(w.path(".git"), 12345, 12345))
		_, err = target("sub").KeepOutOfGit()
		require.NoError(t, err, "a stranger's index does not matter")
	}
}
