package section

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

func TestAdd(t *testing.T) {
	for _, tt := range []struct{ name, text, section, addition, want string }{
		{"into nothing", "", "", "use tabs", "- use tabs\n"},
		{"into nothing, with a section", "", "Style", "use tabs", "## Style\n\n- use tabs\n"},
		{"behind a list", "# A\n\n- one\n", "", "two", "# A\n\n- one\n- two\n"},
		{"behind a paragraph, no newline at the end", "# A\n\ntext", "", "two", "# A\n\ntext\n\n- two"},
		{"an item stays one", "* one\n", "", "* two", "* one\n* two\n"},
		{"into a section", "# A\n\n- one\n\n## Code  Style\n\n- x\n\n\n## End\nend\n", "code style", "y", "# A\n\n- one\n\n## Code  Style\n\n- x\n- y\n\n## End\nend\n"},
		{"into an empty section", "## A\n## B\n", "## A", "x", "## A\n\n- x\n\n## B\n"},
		{"a section that is new", "# A\n", "B", "x", "# A\n\n## B\n\n- x\n"},
		{"a heading in code is none", "```\n## A\n```\n", "A", "x", "```\n## A\n```\n\n## A\n\n- x\n"},
		{"behind frontmatter", "---\nname: a\n---\n", "", "x", "---\nname: a\n---\n\n- x\n"},
		{"behind frontmatter and text", "---\nname: a\n---\n- a\n", "", "x", "---\nname: a\n---\n- a\n- x\n"},
		{"several lines are as they are", "- a\n", "", "## More\n\ntext\n", "- a\n\n## More\n\ntext\n"},
		{"Windows line ends", "# A\r\n\r\n- one\r\n", "", "two", "# A\r\n\r\n- one\r\n- two\r\n"},
		{"each line keeps its end", "a\r\nb\nc\n", "", "- d", "a\r\nb\nc\n\r\n- d\r\n"},
		{"a heading with markup", "## Use `go test`\n\n- x\n", "Use `go test`", "y", "## Use `go test`\n\n- x\n- y\n"},
		{"a fence that is closed", "```\nx\n```\n", "", "y", "```\nx\n```\n\n- y\n"},
		{"invisible characters", "", "", "a\u200bb\u202e", "- ab\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, at, err := Add(tt.text, tt.section, tt.addition, false)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			if !strings.Contains(tt.addition, "\n") {
				_, _, err = Add(got, tt.section, tt.addition, false)
				var said *SaidError
				require.ErrorAs(t, err, &said)
				require.Equal(t, at, said.Line)
			}
		})
	}
	for _, open := range []string{"# T\n\n```sh\nmake\n", "# T\n\n<!-- x\n", "# T\n\n~~~"} {
		var inside *OpenError
		_, _, err := Add(open, "", "x", false)
		require.ErrorAs(t, err, &inside, "%q", open)
		require.Equal(t, 3, inside.Line)
	}
	for _, no := range []string{"\xff\xfea\x00", "a\x00b"} {
		_, _, err := Add(no, "", "x", false)
		require.ErrorIs(t, err, ErrText)
	}
	for _, nothing := range []string{"", " \n\t", "\u200b"} {
		_, _, err := Add("x", "", nothing, false)
		require.ErrorIs(t, err, ErrNothing)
	}
	_, _, err := Add("## A\n\n- The port is 5432\n", "B", "the port is 5432.", false)
	require.EqualError(t, err, "line 3 says that already: - The port is 5432")
	_, _, err = Add("---\nx: 1\n---\n\nThe staging postgres listens on port 5433.", "", "The staging postgres now listens on port 5433", true)
	require.EqualError(t, err, "line 5 says about the same: The staging postgres listens on port 5433.")
	for _, other := range []string{"The staging postgres listens on port 5434", "The staging postgres never listens on port 5433", "The `prod` postgres listens on port 5433"} {
		_, _, err = Add("The staging postgres listens on port 5433.", "", other, true)
		require.NoError(t, err, other)
	}
}

func TestRemove(t *testing.T) {
	text := "# A\r\n\r\n- one\r\n- two\r\n\r\ntext\r\n"
	for _, tt := range []struct {
		first, last int
		want        string
	}{{3, 3, "# A\r\n\r\n- two\r\n\r\ntext\r\n"}, {3, 4, "# A\r\n\r\ntext\r\n"}, {6, 6, "# A\r\n\r\n- one\r\n- two\r\n"}, {1, 1, "\r\n- one\r\n- two\r\n\r\ntext\r\n"}} {
		got, err := Remove(text, tt.first, tt.last)
		require.NoError(t, err)
		require.Equal(t, tt.want, got, "%d-%d", tt.first, tt.last)
	}
	for _, lines := range [][2]int{{0, 1}, {3, 2}, {1, 99}} {
		_, err := Remove(text, lines[0], lines[1])
		require.Error(t, err)
	}
}

// Text after the section does not become part of the addition.
func TestAddNothingOpen(t *testing.T) {
	for _, open := range []string{"Run this:\n```sh\nmake", "```", "~~~~\n~~~", "a\n\n<!-- b\n\nc"} {
		_, _, err := Add("# A\n\n- one\n\n# B\n\n- two\n", "A", open, false)
		require.ErrorIs(t, err, ErrOpen, open)
	}
	for _, closed := range []string{"Run this:\n```sh\nmake\n```", "~~~~\n~~~\n~~~~", "a\n\n<!-- b -->", "- ```\n  make", "a <!-- b", "use ``` for code"} {
		got, _, err := Add("# A\n\n- one\n\n# B\n\n- two\n", "A", closed, false)
		require.NoError(t, err, closed)
		var titles []string
		for b := range chunker.Blocks(got) {
			if b.Level == 1 {
				titles = append(titles, b.Title)
			}
		}
		require.Equal(t, []string{"A", "B"}, titles, closed)
	}
}

// The result has all old text and the addition.
func FuzzAdd(f *testing.F) {
	f.Add("# A\n\n- one\n", "A", "two")
	f.Add("---\nx: 1\n---\r\ntext", "", "## b\n\nc")
	f.Fuzz(func(t *testing.T, text, section, addition string) {
		got, at, err := Add(text, section, addition, true)
		if err != nil {
			return
		}
		if lines := strings.Count(got, "\n") + 1; at < 1 || at > lines {
			t.Fatalf("Add(%q, %q, %q) = %q, at line %d", text, section, addition, got, at)
		}
		words := func(s string) []string { return strings.Fields(s) }
		at, all := 0, words(got)
		for _, w := range words(text) {
			for at < len(all) && all[at] != w {
				at++
			}
			if at == len(all) {
				t.Fatalf("Add(%q, %q, %q) = %q loses %q", text, section, addition, got, w)
			}
			at++
		}
	})
}

func TestStrike(t *testing.T) {
	for _, tt := range []struct {
		name, text  string
		first, last int
		want        string
	}{
		{"an item of tasks", "- [ ] one\n", 1, 1, "- [ ] ~~one~~ (superseded 2026-02-24)\n"},
		{"a tilde", "- at ~/x\n", 1, 1, "- ~~at ~/x~~ (superseded 2026-02-24)\n"},
		{"an item", "# A\n\n- one\n- two\n", 3, 3, "# A\n\n- ~~one~~ (superseded 2026-02-24)\n- two\n"},
		{"a paragraph", "one\ntwo.\n\nthree\n", 1, 2, "~~one\ntwo.~~ (superseded 2026-02-24)\n\nthree\n"},
		{"an item of two lines", "  1. one\n     two\n", 1, 2, "  1. ~~one\n     two~~ (superseded 2026-02-24)\n"},
		{"Windows line ends", "- one\r\n- two\r\n", 1, 1, "- ~~one~~ (superseded 2026-02-24)\r\n- two\r\n"},
		{"no newline at the end", "- one", 1, 1, "- ~~one~~ (superseded 2026-02-24)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Strike(tt.text, tt.first, tt.last, "2026-02-24")
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			_, err = Strike(got, tt.first, tt.last, "2026-02-25")
			require.ErrorIs(t, err, ErrStruck)
		})
	}
	for _, lines := range []string{"- a\n- b\n", "| a |\n|---|\n", "```sh\n```\n", "---\nx: y\n---\n\ntext\n", "# A\n\ntext\n"} {
		_, err := Strike(lines, 1, 2, "")
		require.ErrorIs(t, err, ErrStatement, lines)
	}
	_, err := Strike("x\n", 3, 4, "")
	require.ErrorContains(t, err, "there are no lines 3 to 4")
	got, line, err := Add("- ~~the port is 1~~ (superseded 2026-02-24)\n", "", "the port is 1", true)
	require.NoError(t, err, "what holds no longer may hold again")
	require.Equal(t, 2, line)
	require.Contains(t, got, "\n- the port is 1\n")
}
