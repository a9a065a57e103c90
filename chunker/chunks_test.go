package chunker_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

func TestHeadings(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"none", "text", ""},
		{"under its heading", "# A\ntext", "A"},
		{"underlined", "A\n===\n\nB\n---\ntext", "A > B"},
		{"underlined, several lines", "one\ntwo\n===\ntext", "one two"},
		{"levels are skipped", "# A\n\n#### B\ntext", "A > B"},
		{"deeper first", "### A\n\n# B\ntext", "B"},
		{"the same twice", "# A\n## B\n# A\n## B\ntext", "A > B"},
		{"code", "# The `a_b*` option\ntext", "The a_b* option"},
		{"emphasis", "# **Very** _old_ ~~thing~~ __\ntext", "Very old thing __"},
		{"link", "# See [the docs](http://x.y/(z)) <https://a.b>\ntext", "See the docs https://a.b"},
		{"link by reference", "# [1.0.0] and [this][ref]\ntext", "[1.0.0] and this"},
		{"image and HTML", "# ![logo](a.png) <b>bold</b>\ntext", "logo bold"},
		{"entities and escapes", "# a &amp; b \\* c &#x41;\ntext", "a & b * c A"},
		{"closing marks", "## A ##\ntext", "A"},
		{"attributes", "## A {#anchor}\ntext", "A"},
		{"empty", "# A\n##\ntext", "A"},
		{"not in a fence", "# A\n```\n# B\n```", "A"},
		{"not in a quote", "# A\n> # B\n> text", "A"},
		{"no space, no heading", "# A\n#B", "A"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chunks := chunker.Markdown("a.md", []byte(tt.src), chunker.Options{}).Chunks
			require.NotEmpty(t, chunks)
			last := chunks[len(chunks)-1]
			if last.Context != tt.want || strings.Join(last.Headings, " > ") != tt.want {
				t.Errorf("Markdown(%q): Context %q, Headings %q, want %q", tt.src, last.Context, last.Headings, tt.want)
			}
		})
	}
}

func TestTitleAndMeta(t *testing.T) {
	for _, tt := range []struct{ name, src, title, meta, text, warning string }{
		{"none", "text", "", "map[]", "text", ""},
		{"first level-1 heading", "## B\n\n# A `x`\n\n# C", "A x", "map[]", "## B\n\n# A `x`\n\n# C", ""},
		{"title before heading", "---\ntitle: T\n---\n# A", "T", "map[title:T]", "# A", ""},
		{"name", "---\nname: N\nn: {1: 2}\n---\n\n\ntext", "N", "map[n:map[1:2] name:N]", "text", ""},
		{"title that is no text", "---\ntitle: [a]\n---\n# A", "A", "map[title:[a]]", "title: [a]\n\n# A", ""},
		{"ends in dots, Windows lines", "\ufeff---\r\na: 1\r\n...\r\ntext\r\n", "", "map[a:1]", "text", ""},
		{"empty", "---\n---\ntext", "", "map[]", "text", ""},
		{"TOML", "+++\ntitle = 'T'\n+++\ntext", "T", "map[title:T]", "text", ""},
		{"broken TOML", "+++\na = 1\nb = = 2\n+++\ntext", "", "map[]", "+++\na = 1\nb = = 2\n+++\n\ntext", "3: toml"},
		{"a glob without quotes", "---\ndescription: Use when: now\nglobs: *.ts\n---\ntext", "", "map[description:Use when: now globs:*.ts]", "description: Use when: now\n\ntext", ""},
		{"not at the start", "\n---\na: 1\n---\n", "", "map[]", "---\na: 1\n---", ""},
		{"not closed", "---\na: 1\n", "", "map[]", "---\na: 1", ""},
		{"a thematic break", "---\n\ntext\n\n***\n", "", "map[]", "---\n\ntext\n\n***", ""},
		{"broken", "---\na: 1\nb: [\n---\ntext", "", "map[]", "---\na: 1\nb: [\n---\n\ntext", "3: did not find"},
		{"a list", "---\n- a\n---\ntext", "", "map[]", "---\n- a\n---\n\ntext", "2: it is not a mapping"},
		{"the same key twice", "---\na: 1\na: 2\n---\ntext", "", "map[]", "---\na: 1\na: 2\n---\n\ntext", "3: mapping key"},
		{"a template", "---\na: 1\ndate: {{date}}\n---\ntext", "", "map[]", "---\na: 1\ndate: {{date}}\n---\n\ntext", "3: a key of it is a mapping or a list, as braces of a template"},
		{"an alias of itself", "---\na: &x [*x]\n---\ntext", "", "map[]", "---\na: &x [*x]\n---\n\ntext", "2: "},
		{"invalid UTF-8", "a\nb\xffc", "", "map[]", "a\nb\ufffdc", "2: invalid UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := chunker.Markdown("a.md", []byte(tt.src), chunker.Options{})
			var texts, warnings []string
			for _, c := range doc.Chunks {
				texts = append(texts, c.Text)
			}
			for _, w := range doc.Warnings {
				warnings = append(warnings, fmt.Sprintf("%d: %s", w.Line, strings.TrimPrefix(w.Text, "frontmatter is taken as text: ")))
			}
			if got := strings.Join(texts, "\n\n"); doc.Title != tt.title || fmt.Sprint(doc.Meta) != tt.meta || got != tt.text {
				t.Errorf("Markdown(%q): title %q, meta %v, text %q, want %q, %s, %q", tt.src, doc.Title, doc.Meta, got, tt.title, tt.meta, tt.text)
			}
			if got := strings.Join(warnings, "\n"); !strings.HasPrefix(got, tt.warning) || (got == "") != (tt.warning == "") {
				t.Errorf("Markdown(%q): warnings %q, want %q", tt.src, got, tt.warning)
			}
		})
	}
}

// Commands in a template do not become a section.
func TestTemplate(t *testing.T) {
	doc := chunker.Markdown("daily.md", []byte("# Day\n\nWhat was done.\n\n## Log\n\n<% tp.file.cursor() %>\n"), chunker.Options{})
	if len(doc.Chunks) != 1 || strings.Contains(doc.Chunks[0].Text, "cursor") {
		t.Errorf("chunks %+v, want one without the command", doc.Chunks)
	}
}

// A few lines that stand for a thousand million values.
func TestFrontmatterBomb(t *testing.T) {
	var src strings.Builder
	src.WriteString("---\na0: &a0 [x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&src, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), ", "))
	}
	src.WriteString("---\ntext\n")
	doc := chunker.Markdown("a.md", []byte(src.String()), chunker.Options{})
	if doc.Meta != nil || len(doc.Warnings) != 1 || !strings.Contains(doc.Warnings[0].Text, "more than 10000 values") {
		t.Errorf("meta %.100v, warnings %v, want none and one about 10000 values", doc.Meta, doc.Warnings)
	}
}

func TestLines(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"empty", "", ""},
		{"blank", "\n \n\t\r\n", ""},
		{"blank lines around", "\n\na\n\n", `3-3 "a"`},
		{"Windows lines", "# A\r\n\r\na  \r\nb\r\n", `1-4 "# A\n\na  \nb"`},
		{"an old Mac's are no lines", "a\rb", `1-1 "a\rb"`},
		{"frontmatter counts", "---\na: 1\n---\n\na\n", `5-5 "a"`},
		{"a heading goes with what follows", "# A\n\n## B\n\ntext\n", `1-5 "# A\n\n## B\n\ntext"`},
		{"a section each", "# A\none\n# B\ntwo\n", `1-2 "# A\none" 3-4 "# B\ntwo"`},
		{"a heading at the end joins", "# A\none\n# B\n", `1-3 "# A\none\n# B"`},
		{"a comment alone joins what follows", "# A\n<!-- x -->\n# B\ntwo\n", `1-4 "# A\n<!-- x -->\n# B\ntwo"`},
		{"link definitions are text", "a [b]\n\n[b]: http://x\n", `1-3 "a [b]\n\n[b]: http://x"`},
		{"heading after text without blank line", "a\n# B\nb\n", `1-1 "a" 2-3 "# B\nb"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			o := chunker.Options{Max: 240, Count: words}
			for _, c := range checkMarkdown(t, []byte(tt.src), o).Chunks {
				got = append(got, fmt.Sprintf("%d-%d %q", c.StartLine, c.EndLine, c.Text))
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("Markdown(%q) = %s, want %s", tt.src, got, tt.want)
			}
		})
	}
}

func TestFrontmatterIsText(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"tags go with the first section", "---\ntitle: T\ntags: [ops, db]\nid: 7\n---\n\n# A\n\ntext\n\n# B\n\nmore\n", `3-9 "tags: [ops, db]\n\n# A\n\ntext" 11-13 "# B\n\nmore"`},
		{"a blank line parts it from the text", "---\nalias: K8s\n---\ntext\n", `2-4 "alias: K8s\n\ntext"`},
		{"lists and long values", "---\nid: 7\naliases:\n  - one\n\n  - two\n# none\nowner: me\nsummary: >\n  It\n  rains.\n---\ntext\n", `3-13 "aliases:\n  - one\n  - two\nsummary: >\n  It\n  rains.\n\ntext"`},
		{"a list that is not indented", "---\nTags:\n- one\ndate: 2026-09-01\n---\ntext\n", `2-6 "Tags:\n- one\n\ntext"`},
		{"TOML", "+++\ntitle = 'T'\ndescription = 'It rains'\n[taxonomies]\nx = 1\ntags = ['wet']\n+++\ntext\n", `3-8 "description = 'It rains'\ntags = ['wet']\n\ntext"`},
		{"nothing else", "---\nname: freeze\ndescription: No deploys\ntype: project\n---\n", `2-4 "name: freeze\ndescription: No deploys\ntype: project"`},
		{"nothing but a title", "---\ntitle: T\n---\n\n", `2-2 "title: T"`},
		{"a second name", "---\ntitle: T\nname: t-1\n---\ntext\n", `3-5 "name: t-1\n\ntext"`},
		{"a sentence under any key", "---\ntitle: A day at the sea\nstatus: replaced by the note on tofu\nlayout: post\n---\ntext\n", `3-6 "status: replaced by the note on tofu\n\ntext"`},
		{"what is nested", "---\nmeta:\n  description: The jelly sets at dusk\n  id: 7\n---\ntext\n", `3-6 "  description: The jelly sets at dusk\n\ntext"`},
		{"a sentence without blanks", "---\n状态: 这个决定已经被新的决定代替了\n路径: /a/b\n---\ntext\n", `2-5 "状态: 这个决定已经被新的决定代替了\n\ntext"`},
		{"nothing that tells", "---\ntitle: T\nlayout: post\n---\ntext\n", `5-5 "text"`},
		{"Windows lines, other keys", "\ufeff---\r\n\"description\": Größe\r\nкод: 7\r\n...\r\ntext\r\n", `2-5 "\"description\": Größe\n\ntext"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range checkMarkdown(t, []byte(tt.src), chunker.Options{Max: 240, Count: words}).Chunks {
				got = append(got, fmt.Sprintf("%d-%d %q", c.StartLine, c.EndLine, c.Text))
			}
			require.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

// However much it says, and however broken it is, frontmatter makes few chunks.
func TestFrontmatterIsBounded(t *testing.T) {
	aliases := strings.Repeat("  - another name of it\n", 4000)
	for name, front := range map[string]string{
		"long list": "tags: [a]\naliases:\n" + aliases[:40_000],
		"too large": "tags: [a]\naliases:\n" + aliases,
		"broken":    "tags: [a]\nx: [\naliases:\n" + aliases[:40_000],
		"long line": "description: " + strings.Repeat("word ", 6000) + "\nid: 1",
	} {
		t.Run(name, func(t *testing.T) {
			doc := chunker.Markdown("a.md", []byte("---\n"+front+"\n---\n\n# A\n\ntext\n"), chunker.Options{})
			require.Greater(t, len(doc.Chunks), 1)
			require.Less(t, len(doc.Chunks), 12)
			last := doc.Chunks[len(doc.Chunks)-1]
			require.True(t, strings.HasSuffix(last.Text, "# A\n\ntext"), last.Text)
			require.Equal(t, strings.Count(front, "\n")+7, last.EndLine)
		})
	}
}

// A long list leaves room for what follows it.
func TestFrontmatterAfterLists(t *testing.T) {
	for name, list := range map[string]string{
		"items":  "tags:\n" + strings.Repeat("  - another\n", 1000),
		"a line": "tags: [" + strings.Repeat("another, ", 1000) + "last]\n",
	} {
		doc := chunker.Markdown("a.md", []byte("---\n"+list+"description: The marmot sleeps\n---\n\ntext\n"), chunker.Options{})
		require.True(t, slices.ContainsFunc(doc.Chunks, func(c chunker.Chunk) bool { return strings.Contains(c.Text, "The marmot sleeps") }), name)
	}
}

// A payload leaves a mark, is no chunk, and moves no citation.
func TestPayloads(t *testing.T) {
	image := "data:image/png;base64," + strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAADIAAAAyCAYAAAAeP4ixAAAEZklEQVRoQ", 900)
	lines := strings.Repeat("aGkgdGhlcmUsIHRoaXMgaXMgYSBtZXNzYWdlIG9mIG5vIG1lYW5pbmcgYXQg\n\n", 400)
	for _, tt := range []struct{ name, src, want string }{
		{"image", "# Logo\n\n![logo](" + image + ")\n\nIt is blue.\n", `1-5 "# Logo\n\n![logo](data:image/png;base64,…)\n\nIt is blue."`},
		{"definition of an image", "# Logo\n\nIt is blue.\n\n[1]: <" + image + ">\n[2]: <" + image + ">\n", `1-3 "# Logo\n\nIt is blue."`},
		{"drawing", "# Text\n\nA to B\n\n%%\n## Drawing\n~~~compressed-json\n" + lines + "~~~\n%%\n\n# After\n\nmore\n", `1-5 "# Text\n\nA to B\n\n%%" 6-813 "## Drawing\n~~~compressed-json\n…\n\n~~~\n%%\n\n# After\n\nmore"`},
		{"between two paragraphs", "one\n\n" + lines + "two\n", `1-803 "one\n\n…\n\ntwo"`},
		{"nothing else", lines, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range checkMarkdown(t, []byte(tt.src), chunker.Options{Max: 240, Count: words}).Chunks {
				got = append(got, fmt.Sprintf("%d-%d %q", c.StartLine, c.EndLine, c.Text))
			}
			require.Equal(t, tt.want, strings.Join(got, " "))
		})
	}
}

// A change in one section keeps others' IDs and hashes.
func TestIDsStay(t *testing.T) {
	section := func(n int) string {
		return fmt.Sprintf("## Part %d\n\nIt holds %d things.\n\n- [ ] one\n- [ ] two\n\n", n, n)
	}
	before := "# Notes\n\n" + section(1) + section(2) + section(3) + section(3)
	after := "# Notes\n\n" + section(1) + "A new line.\n\n" + section(2) + section(3) + section(3)
	old, now := chunker.Markdown("a.md", []byte(before), chunker.Options{}).Chunks, chunker.Markdown("a.md", []byte(after), chunker.Options{}).Chunks
	require.Len(t, old, 4)
	require.Len(t, now, 4)
	for i := range old {
		same := old[i].ID == now[i].ID && old[i].Hash == now[i].Hash
		if same == (i == 0) {
			t.Errorf("chunk %d has ID %s, had %s: same is %t, want %t", i, now[i].ID, old[i].ID, same, i > 0)
		}
	}
	if old[2].ID == old[3].ID || old[2].Hash != old[3].Hash {
		t.Errorf("equal sections: IDs %s and %s, hashes %s and %s, want other IDs and equal hashes", old[2].ID, old[3].ID, old[2].Hash, old[3].Hash)
	}
	other := chunker.Markdown("b.md", []byte(before), chunker.Options{}).Chunks
	if other[0].ID == old[0].ID || other[0].Hash != old[0].Hash {
		t.Errorf("the same text in another document: ID %s, hash %s, want another ID and %s", other[0].ID, other[0].Hash, old[0].Hash)
	}
}

func TestSplitting(t *testing.T) {
	o := chunker.Options{Target: 60, Max: 90, Overlap: 12, Count: words}
	sentence := "The pool is exhausted when a worker keeps its connection for the batch. "
	fence := "```\n" + strings.Repeat("x := f(x) // again\n", 8) + "```\n"
	for _, tt := range []struct {
		name, src string
		check     func(*testing.T, []chunker.Chunk)
	}{
		{"prose ends at sentences and overlaps", strings.Repeat(sentence, 20), func(t *testing.T, chunks []chunker.Chunk) {
			for i, c := range chunks {
				if !strings.HasSuffix(c.Text, "batch.") {
					t.Errorf("chunk %d ends in the middle of a sentence: %q", i, c.Text)
				}
				if i > 0 && strings.HasPrefix(c.Text, "The pool") {
					t.Errorf("chunk %d repeats nothing: %q", i, c.Text)
				}
			}
		}},
		{"Chinese ends at sentences", strings.Repeat("连接池已经用完了，因为每个工作进程都保持着自己的连接。", 40), func(t *testing.T, chunks []chunker.Chunk) {
			for i, c := range chunks {
				if !strings.HasSuffix(c.Text, "。") {
					t.Errorf("chunk %d ends in the middle of a sentence: %q", i, c.Text)
				}
			}
		}},
		{"code that fits stays whole", "Some words before it, so that both together are too large for a chunk of this size.\n\n" + fence + "\n" + strings.Repeat(sentence, 3), func(t *testing.T, chunks []chunker.Chunk) {
			for _, c := range chunks {
				if n := strings.Count(c.Text, "```"); n != 0 && n != 2 {
					t.Errorf("a fence is cut: %q", c.Text)
				}
			}
		}},
		{"list items stay whole", strings.Repeat("- one point about the pool\n  that goes on here\n", 20), func(t *testing.T, chunks []chunker.Chunk) {
			for _, c := range chunks {
				if !strings.HasPrefix(c.Text, "- ") || !strings.HasSuffix(c.Text, "here") {
					t.Errorf("an item is cut: %q", c.Text)
				}
			}
		}},
		{"nothing but prose overlaps", strings.Repeat("- an item\n", 60) + "\n" + "```\n" + strings.Repeat("code\n", 60) + "```\n\n| a | b |\n|---|---|\n" + strings.Repeat("| one | 2 |\n", 60), func(t *testing.T, chunks []chunker.Chunk) {
			for i := range chunks[1:] {
				if chunks[i+1].StartLine <= chunks[i].EndLine {
					t.Errorf("chunk %d begins on line %d, the one before ends on %d", i+1, chunks[i+1].StartLine, chunks[i].EndLine)
				}
			}
		}},
		{"a line of a megabyte", strings.Repeat("x", 1<<20), func(t *testing.T, chunks []chunker.Chunk) {
			for _, c := range chunks {
				if c.StartLine != 1 || c.EndLine != 1 || len(c.Text) > 16*90 {
					t.Errorf("lines %d to %d, %d bytes, want line 1 and at most %d", c.StartLine, c.EndLine, len(c.Text), 16*90)
				}
			}
		}},
		{"a heading of 100 kB", "# " + strings.Repeat("word ", 20000) + "\n\ntext", nil},
		{"a header row of 10 kB", strings.Repeat("| header ", 1000) + "|\n" + strings.Repeat("|---", 1000) + "|\n" + strings.Repeat("| cell\n", 100), nil},
		{"blank lines without end", "a\n" + strings.Repeat("\n", 100000) + "b", nil},
		{"no character is taken apart", strings.Repeat("👩‍👩‍👧e\u0301", 2000), func(t *testing.T, chunks []chunker.Chunk) {
			for _, c := range chunks {
				if !strings.HasPrefix(c.Text, "👩") && !strings.HasPrefix(c.Text, "e") {
					t.Errorf("a character is cut: %.40q", c.Text)
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chunks := checkMarkdown(t, []byte(tt.src), o).Chunks
			if len(chunks) < 2 {
				t.Fatalf("%d chunks, want some", len(chunks))
			}
			if tt.check != nil {
				tt.check(t, chunks)
			}
		})
	}
}

// The counted bytes are linear in the input.
func TestCountingIsLinear(t *testing.T) {
	const size = 200_000
	for name, unit := range map[string]string{
		"one word":         "x",
		"one line":         "word ",
		"CJK":              "漢字",
		"sentences":        "One here. ",
		"short lines":      "a b\n",
		"paragraphs":       "a b\n\n",
		"items":            "- a b\n",
		"loose items":      "- a\n\n\n",
		"headings":         "# a\n",
		"sections":         "## a\n\ntext\n\n",
		"rules under text": "a\n---\n",
		"nested quotes":    strings.Repeat(">", 10000) + " a\n",
		"nested lists":     strings.Repeat("- ", 5000) + "a\n",
		"deep lists":       strings.Repeat(strings.Repeat(" ", 500)+"- a\n", 3),
		"brackets":         "[",
		"open fence":       "```\nx\n\n```\n",
		"open comment":     "<!--\nx\n\n",
		"quoted lists":     "> - a\n>\n> b\n",
		"accents":          "\u0301",
		"wide tables":      strings.Repeat("|a", 1000) + "|\n" + strings.Repeat("|-", 1000) + "|\n" + strings.Repeat("|b\n", 2000) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			counted := 0
			o := chunker.Options{Max: 240, Count: func(s string) int { counted += len(s); return words(s) }}
			src := strings.Repeat(unit, size/len(unit))
			chunks := chunker.Markdown("a.md", []byte(src), o).Chunks
			if limit := 40 * len(src); counted > limit {
				t.Errorf("%d bytes were counted of %d, want at most %d", counted, len(src), limit)
			}
			o.Count = words
			checkChunks(t, chunks, strings.Count(src, "\n")+1, o)
		})
	}
}

// Nested blocks cost no more, even thousands in a line.
func TestDeepNesting(t *testing.T) {
	var growing strings.Builder
	for i := range 600 {
		growing.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	for name, src := range map[string]string{
		"quotes":  strings.Repeat(strings.Repeat(">", 10000)+" a\n", 20),
		"lists":   strings.Repeat(strings.Repeat("- ", 5000)+"a\n", 20),
		"numbers": strings.Repeat(strings.Repeat("1. ", 5000)+"a\n", 20),
		"growing": growing.String(),
	} {
		t.Run(name, func(t *testing.T) {
			allocs := testing.AllocsPerRun(1, func() { chunker.Markdown("a.md", []byte(src), chunker.Options{}) })
			if limit := float64(len(src) / 5); allocs > limit {
				t.Errorf("%d bytes took %.0f allocations, want at most %.0f", len(src), allocs, limit)
			}
		})
	}
}

// A document is parsed in windows; their borders do not show.
func TestWindows(t *testing.T) {
	var src strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&src, "## Part %d\n\nText of %d.\n\n```\ncode %d\n\n# no heading\n```\n\n", i, i, i)
	}
	src.WriteString("# Large\n\n```\n" + strings.Repeat("# in a fence that fills more than a window\n", 40000) + "```\n\n# After\n\ntext\n")
	o := chunker.Options{Max: 240, Count: words}
	doc := chunker.Markdown("a.md", []byte(src.String()), o)
	checkChunks(t, doc.Chunks, strings.Count(src.String(), "\n")+1, o)
	for i, c := range doc.Chunks[:4000] {
		if want := fmt.Sprintf("Part %d", i); c.Context != want || c.StartLine != 10*i+1 || c.EndLine != 10*i+9 {
			t.Fatalf("chunk %d: %q, lines %d to %d, want %q, %d to %d", i, c.Context, c.StartLine, c.EndLine, want, 10*i+1, 10*i+9)
		}
	}
	if last := doc.Chunks[len(doc.Chunks)-1]; last.Context != "After" || doc.Title != "Large" {
		t.Errorf("the last chunk is under %q, the title %q, want After and Large", last.Context, doc.Title)
	}
}

func TestOptions(t *testing.T) {
	src := []byte(strings.Repeat("Some sentence of a few words. ", 200))
	for _, o := range []chunker.Options{
		{}, {Target: -1, Max: -1, Overlap: -1}, {Max: 1}, {Target: 1000}, {Target: 300, Max: 100}, {Overlap: 1000}, {Max: 64}, {Target: 500, Max: 8000},
	} {
		chunks := chunker.Markdown("a.md", src, o).Chunks
		limit := map[int]int{0: 240, -1: 240, 1: 32}[o.Max]
		if limit == 0 {
			limit = o.Max
		}
		limit = max(limit, o.Target*min(1, max(0, 1-o.Max)))
		for _, c := range chunks {
			if n := (len(c.Text) + 3) / 4; n > limit {
				t.Errorf("Markdown(%+v): %d tokens, want at most %d", o, n, limit)
			}
		}
	}
}

// The largest numbers mean "as large as possible".
func TestHugeOptions(t *testing.T) {
	src := []byte(strings.Repeat("Some sentence of a few words. ", 2000))
	for _, o := range []chunker.Options{
		{Max: math.MaxInt}, {Target: math.MaxInt}, {Max: math.MaxInt / 8, Target: math.MaxInt / 8, Overlap: math.MaxInt}, {Max: math.MaxInt, Target: math.MaxInt, Overlap: math.MinInt},
	} {
		if n := len(chunker.Markdown("a.md", src, o).Chunks); n != 1 {
			t.Errorf("Markdown(%+v): %d chunks, want 1", o, n)
		}
	}
	if n := len(chunker.Markdown("a.md", src, chunker.Options{Max: math.MinInt, Target: math.MinInt, Overlap: math.MaxInt}).Chunks); n < 100 {
		t.Errorf("negative sizes make %d chunks, want those of the default size", n)
	}
}

func TestEmbeddingText(t *testing.T) {
	at := time.Date(2023, 5, 8, 23, 30, 0, 0, time.FixedZone("", -2*60*60))
	for _, tt := range []struct {
		headings []string
		speaker  string
		at       time.Time
		text     string
		want     string
	}{
		{nil, "", time.Time{}, "text", "text"},
		{[]string{"A", "B"}, "", time.Time{}, "text", "A > B\ntext"},
		{[]string{"A", "B"}, "", time.Time{}, "## B\n\ntext", "A\n## B\n\ntext"},
		{[]string{"A", "B"}, "", time.Time{}, "# A\n\n## B ##\ntext", "# A\n\n## B ##\ntext"},
		{[]string{"A", "B"}, "", time.Time{}, "# A\ntext", "A > B\n# A\ntext"},
		{nil, "Ada", time.Time{}, "text", `Ada said: "text"`},
		{nil, "Ada", at, "text", `On 9 May 2023, Ada said: "text"`},
		{nil, "", at, "text", "On 9 May 2023: text"},
	} {
		if got := chunker.EmbeddingText(tt.headings, tt.speaker, tt.at, tt.text); got != tt.want {
			t.Errorf("EmbeddingText(%q, %q, %v, %q) = %q, want %q", tt.headings, tt.speaker, tt.at, tt.text, got, tt.want)
		}
	}
}
