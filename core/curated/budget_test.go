package curated

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func lines(prefix string, from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%s %d\n", prefix, i)
	}
	return b.String()
}

func TestStartLines(t *testing.T) {
	w := newFixture(t, map[string]string{
		"~/.beans/BEANS.md": "# Mine\n" + lines("m", 2, 60) + "## Second\n" + lines("m", 62, 100),
		"BEANS.md":          "---\npriority: high\n---\n" + lines("p", 4, 100),
		".beans/BEANS.md":   "# Low\n" + lines("l", 2, 80) + "## Last\n" + lines("l", 82, 90),
	})
	m := w.load()
	require.LessOrEqual(t, m.Usage.Lines, 200)
	require.Contains(t, text(m), "p 100", "what has priority stays")
	require.Contains(t, text(m), "# Low\nl 2\n", "what is of a higher tier stays")
	require.Contains(t, m.Instructions(), "# Mine\nm 2\n")
	require.Contains(t, m.Instructions(), "m 38\n", "and of each tier a floor")
	require.Contains(t, warnings(m), "memory is cut: 288 lines are more than 200")
	require.Equal(t, 200, m.Usage.Lines)

	w.options.Limits.Lines = 190
	m = w.load()
	require.Equal(t, 190, m.Usage.Lines)
	require.Contains(t, m.Instructions(), "m 36\n")
	w.options.Limits.Lines = 255
	m = w.load()
	require.Contains(t, text(m), "m 60")
	require.Contains(t, m.Instructions(), "m 65\n\n<!-- Left out to fit: lines 66-100 of ~/.beans/BEANS.md (Second). Read it there when it matters. -->")
	w.options.Limits.Lines = -1
	require.Contains(t, text(w.load()), "m 100")
}

// Tokens bound memory of few, long lines.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 99) + "\n"
	w := newFixture(t, map[string]string{"~/.beans/BEANS.md": "# G\n" + strings.Repeat("y"+long[1:], 200), "BEANS.md": "# P\n" + strings.Repeat(long, 220)})
	w.options.Limits = Limits{Lines: -1}
	m := w.load()
	require.Contains(t, warnings(m), "memory has 10502 tokens; from 12800 on it is cut")
	require.NotContains(t, warnings(m), "memory is cut")
	w.write("BEANS.md", "# P\n"+strings.Repeat(long, 200)+"# Q\n"+strings.Repeat(long+"\n", 150))
	m = w.load()
	require.LessOrEqual(t, m.Usage.Tokens, 12_800)
	require.Contains(t, warnings(m), "tokens are more than 12800")
	require.Contains(t, m.Instructions(), "# G\ny", "a paragraph without a full stop is cut at a line")
	require.Greater(t, m.Usage.Tokens, 12_800-2*26)
}

func TestTokens(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word\n\n", n)) }
	w := newFixture(t, map[string]string{"BEANS.md": words(85)})
	w.options.Count = func(text string) int { return len(strings.Fields(text)) }
	w.options.Limits = Limits{Lines: -1, Tokens: 150}
	require.Empty(t, w.load().Warnings)
	w.write("BEANS.md", words(140))
	m := w.load()
	require.Contains(t, warnings(m), "memory has 140 tokens; from 150 on it is cut")
	require.Equal(t, 140, m.Usage.Tokens)
	require.InDelta(t, 100*140./Window, m.Usage.Percent(), 0.001)
	w.write("BEANS.md", words(400))
	m = w.load()
	require.LessOrEqual(t, m.Usage.Tokens, 150)
	require.Contains(t, warnings(m), "400 tokens are more than 150")
	require.Contains(t, text(m), "<!-- Left out to fit: lines ")
	w.options.Limits = NoLimits
	require.Equal(t, 400, w.load().Usage.Tokens)
}

// A fence is kept or left out as a whole.
func TestFencesAreNotCut(t *testing.T) {
	body := "intro\n\n## Code\n\ntext\n\n```go\n" + lines("code", 1, 30) + "\n# no heading\n```\n\nafter\n\n- item\n  ```\n  x\n\n  y\n  ```\n- two\n\n## End\n\nend"
	for limit := 1; limit < 60; limit++ {
		w := newFixture(t, map[string]string{"BEANS.md": body})
		w.options.Limits.Lines = limit
		m := w.load()
		require.Zero(t, strings.Count(text(m), "```")%2, "limit %d:\n%s", limit, text(m))
		require.True(t, m.Usage.Lines <= limit, "limit %d, %d lines", limit, m.Usage.Lines)
		require.False(t, strings.Contains(text(m), "## Code\n\n<!--"), "a heading alone says nothing")
	}
}

func TestManyFilesLeftOut(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%03d/BEANS.md", i)] = "# Folder\n" + lines(fmt.Sprint("d", i), 1, 9)
	}
	w := newFixture(t, files)
	w.options.Children = true
	m := w.load()
	require.LessOrEqual(t, m.Usage.Lines, 200)
	require.Greater(t, m.Usage.Lines, 170)
	require.Contains(t, text(m), "; and 2")
	require.Equal(t, 1, strings.Count(text(m), "all of d000/BEANS.md; d001/BEANS.md"))
}

func TestSaidOnce(t *testing.T) {
	w := newFixture(t, map[string]string{
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

// A long list is cut at items.
func TestLongLists(t *testing.T) {
	bullets := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "- rule number %d\n", i+1)
		}
		return b.String()
	}
	t.Run("of a file at the start", func(t *testing.T) {
		w := newFixture(t, map[string]string{"BEANS.md": "# Rules\n\n" + bullets(202), "~/.beans/BEANS.md": "Answer in one sentence."})
		m := w.load()
		require.Equal(t, 200, m.Usage.Lines)
		require.Equal(t, "Answer in one sentence.", m.Instructions(), "a note about it would be longer")
		require.Equal(t, "# Rules\n\n"+bullets(195)+"\n<!-- Left out to fit: lines 198-204 of BEANS.md (Rules). Read it there when it matters. -->", m.ProjectContext())
		w.write("~/.beans/BEANS.md", "- Answer\n- in one\n- sentence")
		m = w.load()
		require.Equal(t, 200, m.Usage.Lines)
		require.Equal(t, "- Answer\n- in one\n- sentence", m.Instructions(), "each tier has a floor")
		require.Equal(t, "# Rules\n\n"+bullets(193)+"\n<!-- Left out to fit: lines 196-204 of BEANS.md (Rules). Read it there when it matters. -->", m.ProjectContext())
		w.write("BEANS.md", "---\npriority: high\n---\n# Rules\n\n"+bullets(202))
		require.Empty(t, w.load().Instructions(), "but not against a higher priority")
		w.write("BEANS.md", "# Rules\n\n"+bullets(202))
		w.write("~/.beans/BEANS.md", "---\npriority: 1\n---\n- Answer\n- in one\n- sentence")
		m = w.load()
		require.Equal(t, 200, m.Usage.Lines)
		require.Equal(t, "- Answer\n- in one\n- sentence", m.Instructions())
		require.Contains(t, m.ProjectContext(), "rule number 193\n\n<!--")
	})
	t.Run("of tokens", func(t *testing.T) {
		w := newFixture(t, map[string]string{"BEANS.md": bullets(150)})
		w.options.Count = func(text string) int { return len(strings.Fields(text)) }
		w.options.Limits.Tokens = 300
		m := w.load()
		require.Equal(t, 300-300%4, m.Usage.Tokens-m.Usage.Tokens%4)
		require.Contains(t, text(m), "- rule number 70\n")
	})
	t.Run("of an import", func(t *testing.T) {
		w := newFixture(t, map[string]string{"BEANS.md": "before\n@list.md\nafter", "list.md": bullets(600)})
		require.Equal(t, "before\n"+bullets(197)+"\n<!-- Left out to fit: lines 198-600 of list.md, line 3 of BEANS.md. Read it there when it matters. -->", text(w.load()))
	})
	t.Run("nested", func(t *testing.T) {
		w := newFixture(t, map[string]string{"BEANS.md": "- short\n- long, with what belongs to it\n" + strings.Repeat("  - nested in it, more or less\n", 30) + "- last"})
		w.options.Limits.Lines = 10
		require.Equal(t, "- short\n- long, with what belongs to it\n"+strings.Repeat("  - nested in it, more or less\n", 6)+"\n<!-- Left out to fit: lines 9-33 of BEANS.md. Read it there when it matters. -->", text(w.load()))
	})
}

// Other texts that are cut.
func TestCuts(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		limits     Limits
		want       string
	}{
		{"a long paragraph at lines", "# Long\n\n" + strings.Repeat("a line\n", 20) + "\nshort", Limits{Lines: 8},
			"# Long\n\n" + strings.TrimSpace(strings.Repeat("a line\n", 4)) + "\n\n<!-- Left out to fit: lines 7-24 of BEANS.md (Long). Read it there when it matters. -->"},
		{"a paragraph behind it", "first\n\n" + strings.Repeat("a line\n", 6), Limits{Lines: 6}, "first\n\n<!-- Left out to fit: lines 3-8 of BEANS.md. Read it there when it matters. -->"},
		{"rows with their header", "| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 20), Limits{Lines: 6}, "| a | b |\n|---|---|\n| 1 | 2 |\n| 1 | 2 |\n\n<!-- Left out to fit: lines 5-22 of BEANS.md. Read it there when it matters. -->"},
		{"a fence as a whole", "first\n\n```\n" + strings.Repeat("x\n", 8) + "```\n\nlast", Limits{Lines: 13}, "first\n\n<!-- Left out to fit: lines 3-14 of BEANS.md. Read it there when it matters. -->"},
		{"no comment is opened", "before\n\n<!--\n" + strings.Repeat("x\n", 80) + "-->\n\nafter", Limits{Lines: 10}, "before\n\n<!-- Left out to fit: lines 3-86 of BEANS.md. Read it there when it matters. -->"},
		{"an element at lines", "<rules>\n" + strings.Repeat("- x\n", 80) + "</rules>", Limits{Lines: 6}, "<rules>\n- x\n- x\n- x\n\n<!-- Left out to fit: lines 5-82 of BEANS.md. Read it there when it matters. -->"},
		{"what announces goes with what it announces", "intro\n\nAs follows:\n\n- a\n- b", Limits{Lines: 5}, "intro\n\n<!-- Left out to fit: lines 3-6 of BEANS.md. Read it there when it matters. -->"},
		{"a heading goes with its section", "intro\n\n# One\n\n## Two\n\ntext\n\nmore", Limits{Lines: 6}, "intro\n\n<!-- Left out to fit: lines 3-9 of BEANS.md (One; Two). Read it there when it matters. -->"},
		{"a note that does not fit", "one\n\ntwo", Limits{Runes: 5}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newFixture(t, map[string]string{"BEANS.md": tt.text})
			w.options.Limits = tt.limits
			require.Equal(t, tt.want, text(w.load()))
		})
	}
}

// Characters are a limit, too: the project's line outranks the user's.
func TestRunes(t *testing.T) {
	w := newFixture(t, map[string]string{"BEANS.md": "Never push to main.", "~/.beans/BEANS.md": strings.Repeat("- ein Wunsch, größer als die anderen\n", 400)})
	w.options.Limits = Limits{Lines: -1, Runes: 9800}
	m := w.load()
	require.Equal(t, "Never push to main.", m.ProjectContext())
	length := utf8.RuneCountInString(formatted(m))
	require.LessOrEqual(t, length, 9800)
	require.Greater(t, length, 9800-2*37)
	require.Contains(t, warnings(m), "characters are more than 9800")
	require.Contains(t, m.Instructions(), "of ~/.beans/BEANS.md. Read it there")
}

// A priority counts among the files of all tiers.
func TestPriorityAcrossTiers(t *testing.T) {
	w := newFixture(t, map[string]string{
		"~/.beans/BEANS.md":       "---\npriority: 100\n---\nmine, whatever the project says",
		"~/.beans/rules/plain.md": "mine",
		".beans/BEANS.md":         "---\npriority: low\n---\nproject, low",
		"BEANS.md":                "---\npriority: 5\n---\nproject",
		"BEANS.local.md":          "---\npriority: -5\n---\nproject, private",
	})
	m := w.load()
	require.Equal(t, []Section{{true, "project, low"}, {false, "mine"}, {true, "project\n\nproject, private"}, {false, "mine, whatever the project says"}}, m.Sections())
	require.Equal(t, "mine\n\nmine, whatever the project says", m.Instructions())
	w.options.Limits.Lines = 3
	require.Equal(t, []Section{{false, "mine, whatever the project says\n\n<!-- Left out to fit: all of .beans/BEANS.md; ~/.beans/rules/plain.md; BEANS.md; BEANS.local.md. Read it there when it matters. -->"}}, w.load().Sections())
	w.write("BEANS.md", "---\nenabled: false\npriority: 200\n---\nproject")
	w.options.Limits.Lines = -1
	require.Equal(t, Section{true, "project, low\n\nproject, private"}, w.load().Sections()[0], "what is turned off lifts nothing")
}

// The text is lines of the files, in order, within limits.
func FuzzBudget(f *testing.F) {
	f.Add("# a\n\nb\n\n- c\n- d\n\n```\ne\n\nf\n```\n", "- c\n\n# x\n", 5)
	f.Add("a\n\n***\n", "> b\n\n# c\n===\n", 1)
	f.Fuzz(func(t *testing.T, one, two string, limit int) {
		limit = 1 + int(uint(limit)%40)
		r := newReader(t.Context(), Options{Count: estimate}.withDefaults())
		var all []candidate
		for i, text := range []string{one, two} {
			c := parse(fmt.Sprint(i), []byte(text))
			x := &expansion{reader: r, given: map[string]bool{}, imported: map[string]bool{}, unfollowed: map[string]bool{}}
			x.o.NoImports = true
			cand := candidate{file: fmt.Sprint(i), tier: Project, parsed: c}
			cand.body = x.bodyOf(cand)
			all = append(all, cand)
		}
		gone, _ := r.shrink(all, Limits{Lines: limit, Tokens: -1})
		var m Memory
		r.render(&m, all, gone, Limits{Lines: limit, Tokens: -1})
		for _, p := range all {
			at := 0
			for _, l := range p.body.lines {
				if l.number == 0 && l.text == "" {
					continue
				}
				if l.number < at || !strings.HasPrefix(p.parsed.lines[l.number-p.parsed.skipped-1], l.text) {
					t.Fatalf("line %d is %q behind line %d", l.number, l.text, at)
				}
				at = l.number
			}
		}
		if got := strings.Count(m.ProjectContext(), "\n") + 1; m.ProjectContext() != "" && got > limit {
			t.Fatalf("%d lines of %d:\n%s", got, limit, m.ProjectContext())
		}
	})
}

// A cut is behind something whole: the rest of a fence or a comment is never left out alone.
func FuzzEnds(f *testing.F) {
	f.Add("# a\n\nb. c `d. e` f.\n\n1. x\n   - y\n\n     z\n```\ng\n\nh\n```\n| a |\n|---|\n| b |\n<x>\n")
	f.Add("> - a\n>\n> b\n\n***\n<!-- x\n\ny\n~~~\n")
	f.Add("0\n\f")
	f.Fuzz(func(t *testing.T, in string) {
		d := &body{}
		for i, text := range strings.Split(in, "\n") {
			d.lines = append(d.lines, line{text, &origin{path: "x"}, i + 1})
		}
		d.lines = trimmed(d.lines)
		last := 0
		for _, end := range d.ends() {
			if end <= last || end > len(d.lines) {
				t.Fatalf("%d behind %d of %d", end, last, len(d.lines))
			}
			last = end
			left := 0
			for _, g := range d.behind(end) {
				left = g.last
			}
			for i, l := range d.lines[end:] {
				if !blank(l) && end+i+1 > left {
					t.Fatalf("line %d is left out and not named", end+i+1)
				}
			}
		}
	})
}
