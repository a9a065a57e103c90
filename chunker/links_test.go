package chunker

import (
	"slices"
	"strings"
	"testing"
)

func TestLinks(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []Link
	}{
		{"of Markdown", "See [the retry budget](b.md), then [more *of it*](../c%20d.md#part \"title\").",
			[]Link{{"b.md", "the retry budget"}, {"../c%20d.md", "more of it"}}},
		{"over two lines", "See [the retry\nbudget](b.md).", []Link{{"b.md", "the retry budget"}}},
		{"in angle brackets", "[x](<my note.md>)", []Link{{"my note.md", "x"}}},
		{"with brackets", "[a [b] c](d_(e).md)", []Link{{"d_(e).md", "a [b] c"}}},
		{"of Obsidian", "[[B|the retry budget]] and [[dir/C#part|c]]", []Link{{"B", "the retry budget"}, {"dir/C", "c"}}},
		{"in a table", "| a | b |\n|---|---|\n| [[B\\|retry]] | x |", []Link{{"B", "retry"}}},
		{"without a text", "[[B]] and [](b.md)", nil},
		{"to elsewhere", "[site](https://example.com/b.md), [part](#part), [mail](mailto:a@b.c)", nil},
		{"images", "![alt](b.md) ![[B|300]] [![badge](b.svg)](b.md)", nil},
		{"in code", "`[a](b.md)` ``[[`|x]]``\n\n```\n[a](b.md)\n```\n\n- ~~~\n  [[B|x]]\n  ~~~\n\n[c](d.md)", []Link{{"d.md", "c"}}},
		{"escaped", `\[a](b.md)`, nil},
		{"not closed", "[a](b.md\n\n[[B|x\n\n[c](d.md)", []Link{{"d.md", "c"}}},
		{"in frontmatter", "---\nrelated: \"[[B|retry]]\"\n---\n", []Link{{"B", "retry"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Links([]byte(tt.in)); !slices.Equal(got, tt.want) {
				t.Errorf("Links(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func FuzzLinks(f *testing.F) {
	f.Add("See [the retry budget](b.md) and [[B|x]].\n\n- ```\n  [a](b)\n")
	f.Add("[[[]](`")
	f.Fuzz(func(t *testing.T, in string) {
		for _, l := range Links([]byte(in)) {
			if l.Text == "" || l.Target == "" || strings.ContainsAny(l.Text, "\n") {
				t.Errorf("Links(%q) has %q", in, l)
			}
		}
	})
}
