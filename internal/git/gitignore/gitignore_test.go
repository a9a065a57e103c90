package gitignore

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Any line makes a pattern or none, and matching ends.
func FuzzMatch(f *testing.F) {
	for _, line := range []string{"*.md", "/a/**/b", "!x/", `\#x`, "[a-", "a{b,c}", "**/", "[!a]*?", `\`, "a\\ "} {
		f.Add(line, "a/b/c.md")
	}
	f.Fuzz(func(t *testing.T, line, path string) {
		all := Compile([]string{line})
		if selected, decided := all.Match(path, false); selected && !decided {
			t.Errorf("pattern %q selects %q without deciding", line, path)
		}
	})
}

// An escaped name matches that file only, here and in git.
func TestEscape(t *testing.T) {
	names := []string{"BEANS.local.md", "#n.md", "!n.md", "[ab].md", "a.md", "a*.md", "a?.md", `a\.md`, `\#n.md`, "{a,b}.md", "x ", "x  ", "x", "a#!.md", " lead.md", "a]b"}
	for _, name := range names {
		patterns := Compile([]string{Escape(name)})
		for _, other := range names {
			if got, _ := patterns.Match(other, false); got != (other == name) {
				t.Errorf("%q, made of %q, matches %q: %v", Escape(name), name, other, got)
			}
		}
	}
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		return
	}
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		command := exec.Command("git", args...)
		command.Dir, command.Stdin = dir, strings.NewReader(in)
		out, _ := command.Output() // fails if nothing is ignored
		return string(out)
	}
	git("", "init", "-q")
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(Escape(name)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := git(strings.Join(names, "\x00"), "check-ignore", "-z", "--stdin"); got != name+"\x00" {
			t.Errorf("by %q git ignores %q, want %q alone", Escape(name), got, name)
		}
	}
}
