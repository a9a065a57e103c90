package chunker_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/payload"
)

// checkMarkdown fails if the chunks of src break a promise.
func checkMarkdown(t *testing.T, src []byte, o chunker.Options) chunker.Document {
	t.Helper()
	doc := chunker.Markdown("a.md", src, o)
	if again := chunker.Markdown("a.md", src, o); !reflect.DeepEqual(doc.Chunks, again.Chunks) {
		t.Errorf("Markdown(%.200q) differs from one call to the next", src)
	}
	clean := strings.ReplaceAll(strings.TrimPrefix(string(src), "\ufeff"), "\r\n", "\n")
	lines := strings.Split(strings.ToValidUTF8(clean, "\ufffd"), "\n")
	checkChunks(t, doc.Chunks, len(lines), o)
	checkLines(t, doc, lines)
	return doc
}

func checkChunks(t *testing.T, chunks []chunker.Chunk, lines int, o chunker.Options) {
	t.Helper()
	ids := map[string]bool{}
	for i, c := range chunks {
		if c.StartLine < 1 || c.EndLine < c.StartLine || c.EndLine > lines {
			t.Errorf("chunk %d is on lines %d to %d of %d", i, c.StartLine, c.EndLine, lines)
		}
		if i > 0 && (c.StartLine < chunks[i-1].StartLine || c.EndLine < chunks[i-1].EndLine) {
			t.Errorf("chunk %d is on lines %d to %d after %d to %d", i, c.StartLine, c.EndLine, chunks[i-1].StartLine, chunks[i-1].EndLine)
		}
		if len(c.ID) != 32 || len(c.Hash) != 64 || strings.Trim(c.ID+c.Hash, "0123456789abcdef") != "" {
			t.Errorf("chunk %d has ID %q and Hash %q", i, c.ID, c.Hash)
		}
		if ids[c.ID] {
			t.Errorf("chunk %d has the ID of another: %s", i, c.ID)
		}
		ids[c.ID] = true
		if strings.TrimSpace(c.Text) == "" {
			t.Errorf("chunk %d is empty", i)
		}
		embedded := chunker.EmbeddingText(c.Headings, c.Speaker, c.Time, c.Text)
		if n := o.Count(embedded); n > o.Max {
			t.Errorf("chunk %d has %d tokens, want at most %d: %.300q", i, n, o.Max, embedded)
		}
		if n := o.Count(c.Text); n != c.Tokens {
			t.Errorf("chunk %d says %d tokens, has %d", i, c.Tokens, n)
		}
	}
}

// checkLines compares chunks with their lines, and demands all lines with text but for payloads and
// frontmatter.
func checkLines(t *testing.T, doc chunker.Document, lines []string) {
	t.Helper()
	_, body, after, _ := chunker.SplitFrontmatter([]byte(strings.Join(lines, "\n")))
	if doc.Meta == nil {
		body, after = strings.Join(lines, "\n"), 0
	} else if body == "" {
		after = len(lines) // the last line may have no end
	}
	lost := payload.Find(body)
	isWhole := doc.Meta == nil && len(lost) == 0
	covered := make([]strings.Builder, len(lines)+1)
	for i, c := range doc.Chunks {
		whole := strings.Join(lines[c.StartLine-1:c.EndLine], "\n")
		if isWhole && !strings.Contains(whole, c.Text) {
			t.Errorf("chunk %d is %.200q, lines %d to %d are %.200q", i, c.Text, c.StartLine, c.EndLine, whole)
		}
		for k, part := range strings.Split(c.Text, "\n") {
			for _, shown := range strings.Split(part, payload.Mark) {
				if !strings.Contains(whole, shown) {
					t.Errorf("chunk %d has %.200q, lines %d to %d are %.200q", i, shown, c.StartLine, c.EndLine, whole)
				}
			}
			if isWhole {
				covered[c.StartLine+k].WriteString(part)
			} else {
				for n := c.StartLine; n <= c.EndLine; n++ {
					covered[n].WriteString(part)
				}
			}
		}
	}
	at := 0
	for i, line := range lines[after:] {
		start, end := at, at+len(line)
		at = end + 1
		if slices.ContainsFunc(lost, func(s payload.Span) bool { return s.Start < end && start < s.End }) {
			continue
		}
		if n := i + after + 1; letters(line) > letters(covered[n].String()) {
			t.Errorf("line %d is %.200q, chunks have %.200q of it", n, line, covered[n].String())
		}
	}
}

// letters counts the characters that are not white space.
func letters(s string) int { return len([]rune(strings.Join(strings.Fields(s), ""))) }

// words counts a word each, and one per six bytes.
func words(s string) int {
	n, inside := 0, false
	for _, r := range s {
		if blank := r == ' ' || r == '\n' || r == '\t'; blank == inside {
			inside = !blank
			if inside {
				n++
			}
		}
	}
	return n + len(s)/6
}

func FuzzMarkdown(f *testing.F) {
	f.Add([]byte("# A\n\ntext\n\n## B\n- one\n- two\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc f() {}\n```\n"), uint8(40))
	f.Add([]byte("---\ntitle: x\n---\nText. More text! 你好。世界\r\n\ufeff\xff"), uint8(0))
	f.Add([]byte("<!-- META: a -->\n\n***\n\nTitle\n===\n- [ ] a\n  - b\n    1. c\n"), uint8(200))
	f.Fuzz(func(t *testing.T, src []byte, size uint8) {
		checkMarkdown(t, src, chunker.Options{Target: 24 + int(size)/2, Max: 32 + int(size), Count: words})
	})
}
