package static

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func lines(prefix string, from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%s %d\n", prefix, i)
	}
	return b.String()
}

func TestFileLines(t *testing.T) {
	w := newWorld(t, map[string]string{"BEANS.md": "# One\n" + lines("a", 2, 300) + "# Two\n" + lines("b", 302, 490) + "# Three\n" + lines("c", 492, 600)})
	w.options.Limits = Limits{Lines: -1}
	m := w.load()
	whole := "# One\n" + lines("a", 2, 300) + "# Two\n" + lines("b", 302, 490) + "\n<!-- Left out to fit: lines 491-600 of BEANS.md (Three). Read it there when it matters. -->"
	require.True(t, text(m) == whole, "%s", text(m))
	require.Contains(t, warnings(m), "has 600 lines, more than 500; left out: lines 491-600 of BEANS.md (Three)")
	require.True(t, m.Files[0].Cut)
	require.Empty(t, m.Given(), "what is cut may be retrieved")
	w.options.Limits.FileLines = -1
	require.Contains(t, text(w.load()), "c 600")
	// An imported file is cut where it stands, and of a file that is cut twice all is told.
	w.write("x.md", text(m)+"\n# Four\n"+lines("d", 1, 100))
	w.write("BEANS.md", "before\n@x.md\nafter")
	w.options.Limits.FileLines = 0
	got := text(w.load())
	require.Contains(t, got, "of x.md (Four)")
	require.True(t, strings.HasSuffix(got, "-->\nafter"), got[len(got)-200:])
}

func TestStartLines(t *testing.T) {
	w := newWorld(t, map[string]string{
		"~/.beans/BEANS.md": "# Mine\n" + lines("m", 2, 60) + "## Second\n" + lines("m", 62, 100),
		"BEANS.md":          "---\npriority: high\n---\n" + lines("p", 4, 100),
		".beans/BEANS.md":   "# Low\n" + lines("l", 2, 80) + "## Last\n" + lines("l", 82, 90),
	})
	m := w.load()
	require.LessOrEqual(t, m.Usage.Lines, 200)
	require.Contains(t, text(m), "p 100", "what has priority stays")
	require.Contains(t, text(m), "l 90", "what is of a higher tier stays")
	require.NotContains(t, text(m), "m 60")
	require.Contains(t, m.ProjectContext(), "<!-- Left out to fit: all of ~/.beans/BEANS.md. Read it there when it matters. -->")
	require.Contains(t, reasons(m)["~/.beans/BEANS.md"], "left out to fit")
	require.Contains(t, warnings(m), "memory is cut: 289 lines are more than 200")

	w.options.Limits.Lines = 255
	m = w.load()
	require.Contains(t, text(m), "m 60")
	require.Contains(t, m.Instructions(), "<!-- Left out to fit: lines 61-100 of ~/.beans/BEANS.md (Second). Read it there when it matters. -->")
	w.options.Limits.Lines = -1
	require.Contains(t, text(w.load()), "m 100")
}

func TestBytes(t *testing.T) {
	long := strings.Repeat("x", 99) + "\n"
	w := newWorld(t, map[string]string{"~/.beans/BEANS.md": "# G\n" + strings.Repeat("y"+long[1:], 200), "BEANS.md": "# P\n" + strings.Repeat(long, 200)})
	w.options.Limits = Limits{Lines: -1, FileLines: -1}
	m := w.load()
	require.Contains(t, warnings(m), "memory has 39.1 KB, more than 30 KB")
	require.NotContains(t, warnings(m), "cut")
	w.write("BEANS.md", "# P\n"+strings.Repeat(long, 200)+"# Q\n"+strings.Repeat(long+"\n", 150))
	m = w.load()
	require.LessOrEqual(t, m.Usage.Bytes, 50<<10)
	require.Contains(t, warnings(m), "KB are more than 50 KB")
	require.Contains(t, reasons(m)["~/.beans/BEANS.md"], "left out to fit", "one paragraph without an end goes as a whole")
}

func TestTokens(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word\n\n", n)) }
	w := newWorld(t, map[string]string{"BEANS.md": words(85)})
	w.options.Count = func(text string) int { return len(strings.Fields(text)) }
	w.options.Limits = Limits{Lines: -1, FileLines: -1, Context: 1000}
	m := w.load()
	require.True(t, m.Usage.Within)
	require.Contains(t, warnings(m), "memory has 85 tokens, more than 8 % of the context window of 1000")
	w.write("BEANS.md", words(140))
	m = w.load()
	require.False(t, m.Usage.Within)
	require.Contains(t, warnings(m), "memory has 140 tokens, more than 10 % of the context window of 1000; from 15 % on it is cut")
	require.Equal(t, 140, m.Usage.Tokens)
	require.InDelta(t, 14, m.Usage.Percent(), 0.01)
	w.write("BEANS.md", words(400))
	m = w.load()
	require.LessOrEqual(t, m.Usage.Tokens, 150)
	require.Contains(t, warnings(m), "400 tokens are more than 150")
	require.Contains(t, text(m), "<!-- Left out to fit: lines ")
	w.options.Limits.Tokens = 50
	require.LessOrEqual(t, w.load().Usage.Tokens, 50)
	w.options.Limits = Limits{Lines: -1, FileLines: -1, Context: -1}
	require.Equal(t, 400, w.load().Usage.Tokens)
}

// A fence is kept or left out as a whole, whatever the limit.
func TestFencesAreNotCut(t *testing.T) {
	body := "intro\n\n## Code\n\ntext\n\n```go\n" + lines("code", 1, 30) + "\n# no heading\n```\n\nafter\n\n- item\n  ```\n  x\n\n  y\n  ```\n- two\n\n## End\n\nend"
	for limit := 1; limit < 60; limit++ {
		w := newWorld(t, map[string]string{"BEANS.md": body})
		w.options.Limits.Lines = limit
		m := w.load()
		require.Zero(t, strings.Count(text(m), "```")%2, "limit %d:\n%s", limit, text(m))
		require.True(t, limit < 4 || m.Usage.Lines <= limit, "limit %d, %d lines", limit, m.Usage.Lines)
		require.False(t, strings.Contains(text(m), "## Code\n\n<!--"), "a heading alone says nothing")
	}
}

func TestManyFilesLeftOut(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%03d/BEANS.md", i)] = "# Folder\n" + lines(fmt.Sprint("d", i), 1, 9)
	}
	w := newWorld(t, files)
	w.options.Children = true
	m := w.load()
	require.LessOrEqual(t, m.Usage.Lines, 200)
	require.Greater(t, m.Usage.Lines, 170)
	require.Contains(t, text(m), "; and 2")
	require.Equal(t, 1, strings.Count(text(m), "all of d000/BEANS.md; d001/BEANS.md"))
}

func TestSaidOnce(t *testing.T) {
	w := newWorld(t, map[string]string{
		"~/.beans/BEANS.md": "# Style\n\n- Use two spaces.\n- Keep my own rule.\n- **Always** write tests\n\n## Git\n\nSquash before you merge.\n\n## Code\n\n```\n- Use two spaces.\n```\n\nExamples:\n\n- nested\n  - Use two spaces.",
		".beans/BEANS.md":   "* use two spaces\n* Project only\n\nSquash before\nyou merge.\n\nExamples:",
		"BEANS.md":          "1. Always write tests.\n2. Last\n\n- Project only\n",
	})
	m := w.load()
	require.Equal(t, "# Style\n\n- Keep my own rule.\n\n## Code\n\n```\n- Use two spaces.\n```\n\nExamples:\n\n- nested", strings.TrimSpace(m.Instructions()))
	require.Equal(t, "* use two spaces\n\nSquash before\nyou merge.\n\nExamples:\n\n1. Always write tests.\n2. Last\n\n- Project only", m.ProjectContext())
	w.write("BEANS.md", "- twice here\n- twice here\n")
	require.Contains(t, text(w.load()), "- twice here\n- twice here", "within a file nothing is touched")
	w.write(".beans/BEANS.md", "- twice here\n")
	require.Equal(t, "other files say all of it", reasons(w.load())[".beans/BEANS.md"])
}

// Whatever is cut, what is left is lines of the files, in order, and within the limits.
func FuzzBudget(f *testing.F) {
	f.Add("# a\n\nb\n\n- c\n- d\n\n```\ne\n\nf\n```\n", "- c\n\n# x\n", 5)
	f.Add("a\n\n***\n", "> b\n\n# c\n===\n", 1)
	f.Fuzz(func(t *testing.T, one, two string, limit int) {
		limit = 1 + int(uint(limit)%40)
		r := &reading{ctx: t.Context(), o: Options{Count: estimate}.withDefaults()}
		var pieces []piece
		for i, text := range []string{one, two} {
			c := r.parse(fmt.Sprint(i), []byte(text))
			x := &expansion{reading: r, given: map[string]bool{}, imported: map[string]bool{}}
			x.o.Imports.Off, x.o.Limits.FileLines = true, -1
			cand := candidate{file: fmt.Sprint(i), tier: Project, content: c}
			pieces = append(pieces, piece{cand, x.whole(cand)})
		}
		gone, _ := r.shrink(pieces, Limits{Lines: limit, Bytes: -1, Context: -1})
		var m Memory
		r.render(&m, pieces, gone)
		for _, p := range pieces {
			at := 0
			for _, l := range p.lines {
				if l.number < at || p.content.lines[l.number-p.content.skipped-1] != l.text {
					t.Fatalf("line %d is %q behind line %d", l.number, l.text, at)
				}
				at = l.number
			}
		}
		if got := strings.Count(m.context, "\n") + 1; got > limit && got > 3 {
			t.Fatalf("%d lines of %d:\n%s", got, limit, m.context)
		}
	})
}
