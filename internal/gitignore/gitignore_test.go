package gitignore

import "testing"

// FuzzMatch: any line makes a pattern or none, and matching ends.
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
