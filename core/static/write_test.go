package static

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInsert(t *testing.T) {
	for _, tt := range []struct{ name, text, section, addition, want string }{
		{"into nothing", "", "", "use tabs", "- use tabs\n"},
		{"into nothing, with a section", "", "Style", "use tabs", "## Style\n\n- use tabs\n"},
		{"behind a list", "# A\n\n- one\n", "", "two", "# A\n\n- one\n- two\n"},
		{"behind a paragraph", "# A\n\ntext", "", "two", "# A\n\ntext\n\n- two\n"},
		{"an item stays one", "* one\n", "", "* two", "* one\n* two\n"},
		{"into a section", "# A\n\n- one\n\n## Code  Style\n\n- x\n\n\n## End\nend\n", "code style", "y", "# A\n\n- one\n\n## Code  Style\n\n- x\n- y\n\n## End\nend\n"},
		{"into an empty section", "## A\n## B\n", "## A", "x", "## A\n\n- x\n\n## B\n"},
		{"a section that is new", "# A\n", "B", "x", "# A\n\n## B\n\n- x\n"},
		{"a heading in code is none", "```\n## A\n```\n", "A", "x", "```\n## A\n```\n\n## A\n\n- x\n"},
		{"behind frontmatter", "---\nname: a\n---\n", "", "x", "---\nname: a\n---\n\n- x\n"},
		{"behind frontmatter and text", "---\nname: a\n---\n- a\n", "", "x", "---\nname: a\n---\n- a\n- x\n"},
		{"several lines are as they are", "- a\n", "", "## More\n\ntext\n", "- a\n\n## More\n\ntext\n"},
		{"Windows line ends", "# A\r\n\r\n- one\r\n", "", "two", "# A\r\n\r\n- one\r\n- two\r\n"},
		{"what nobody sees", "", "", "a\u200bb\u202e", "- ab\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Insert(tt.text, tt.section, tt.addition)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			if !strings.Contains(tt.addition, "\n") {
				_, err = Insert(got, tt.section, tt.addition)
				require.ErrorIs(t, err, ErrSaid)
			}
		})
	}
	for _, nothing := range []string{"", " \n\t", "\u200b"} {
		_, err := Insert("x", "", nothing)
		require.ErrorIs(t, err, ErrNothing)
	}
	got, err := Insert("## A\n\n- x\n\n## B\n", "B", "x")
	require.NoError(t, err)
	require.Equal(t, "## A\n\n- x\n\n## B\n\n- x\n", got, "another section may say it, too")
}

// Nothing of what is there is lost, and what is added is there.
func FuzzInsert(f *testing.F) {
	f.Add("# A\n\n- one\n", "A", "two")
	f.Add("---\nx: 1\n---\r\ntext", "", "## b\n\nc")
	f.Fuzz(func(t *testing.T, text, section, addition string) {
		got, err := Insert(text, section, addition)
		if err != nil {
			return
		}
		words := func(s string) []string { return strings.Fields(s) }
		at, all := 0, words(got)
		for _, w := range words(text) {
			for at < len(all) && all[at] != w {
				at++
			}
			if at == len(all) {
				t.Fatalf("Insert(%q, %q, %q) = %q loses %q", text, section, addition, got, w)
			}
			at++
		}
	})
}

func TestTargets(t *testing.T) {
	w := newWorld(t, nil)
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

	at := target(false, false)
	require.NoError(t, at.Write("root", "changed"))
	text, err := at.Read()
	require.NoError(t, err)
	require.Equal(t, "changed", text)
	require.ErrorContains(t, at.Write("root", "lost update"), "has changed meanwhile")
	w.options.Home, w.options.Beans = "", ""
	_, err = New(w.options).Target(true, false)
	require.ErrorContains(t, err, "no home folder")
}

func TestWritesStayInside(t *testing.T) {
	w := newWorld(t, map[string]string{"AGENTS.md": "agents", "secrets.md": "s", "x.txt": "t"})
	outside := filepath.Join(w.base, "outside.md")
	require.NoError(t, os.WriteFile(outside, []byte("outside"), 0o644))
	for link, want := range map[string]string{outside: "link out of", "secrets.md": "never written", "x.txt": "only .md files", "../outside.md": "link out of"} {
		w.link(link, "BEANS.md")
		target, err := New(w.options).Target(false, false)
		require.NoError(t, err)
		before, err := target.Read()
		require.NoError(t, err)
		require.ErrorContains(t, target.Write(before, "new"), want)
		require.NoError(t, os.Remove(w.path("BEANS.md")))
	}
	w.link("AGENTS.md", "BEANS.md")
	target, err := New(w.options).Target(false, false)
	require.NoError(t, err)
	require.NoError(t, target.Write("agents", "more"))
	data, err := os.ReadFile(w.path("AGENTS.md"))
	require.NoError(t, err)
	require.Equal(t, "more", string(data), "a link inside of the project is followed")
	info, err := os.Lstat(w.path("BEANS.md"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink, "and stays one")
}

func TestKeepOutOfGit(t *testing.T) {
	w := newWorld(t, map[string]string{".gitignore": "dist"})
	target, err := New(w.options).Target(false, true)
	require.NoError(t, err)
	require.NoError(t, target.Write("", "mine"))
	if runtime.GOOS != "windows" {
		info, err := os.Stat(target.File)
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm())
	}
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
}
