package notes

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// Short, because the index of files begins every task.
const (
	maxEntryWords = 9
	maxEntries    = 12
	nearTop       = 3 // blocks from the top that can hold the summary
)

var (
	summaryLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^> Summary:(.*)`)
	})
	keyLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*[-*+]\s+(?:\*\*)?([^:*\n]{1,60}?)(?:\*\*)?:\s*(?:\*\*)?\s*(.*)$`)
	})
)

// summaryAt finds a quote near the top, behind frontmatter.
func summaryAt(text string) (start, end int, summary string) {
	_, body, _, _ := chunker.SplitFrontmatter([]byte(text))
	at, line, seen := len(text)-len(body), 0, 0
	for b := range chunker.Blocks(body) {
		if seen++; seen > nearTop {
			break
		}
		if !b.List {
			continue
		}
		for ; line < b.Start; line++ {
			at += strings.IndexByte(text[at:], '\n') + 1
		}
		if m := summaryLine().FindStringSubmatch(text[at:]); m != nil {
			return at, at + len(m[0]), strings.TrimSpace(m[1])
		}
	}
	return 0, 0, ""
}

// SummaryOf returns the summary of a file; "" for none.
func SummaryOf(text string) string {
	_, _, summary := summaryAt(strings.ReplaceAll(text, "\r\n", "\n"))
	return summary
}

// WithoutSummary removes the summary line if it was generated.
func WithoutSummary(text string) string {
	if start, end, summary := summaryAt(text); end > 0 && summary == generate(text) {
		return text[:start] + text[end:]
	}
	return text
}

// withSummary sets the given summary, else a person's, else a generated one. before shows whether
// the old one was generated.
func withSummary(before, text, given string) string {
	given = strings.Join(strings.Fields(given), " ")
	start, end, own := summaryAt(text)
	if given == "" {
		if own != "" && own != generate(before) && own != generate(text) {
			return text
		}
		given = generate(text)
	}
	if given == "" {
		return text
	}
	line := "> Summary: " + given
	if end > 0 {
		return text[:start] + line + text[end:]
	}
	_, body, _, _ := chunker.SplitFrontmatter([]byte(text))
	front := text[:len(text)-len(body)]
	lines := strings.Split(body, "\n")
	for b := range chunker.Blocks(body) {
		if b.Level != 1 {
			break
		}
		rest := strings.TrimLeft(strings.Join(lines[b.End:], "\n"), "\n")
		return front + strings.Join(lines[:b.End], "\n") + "\n\n" + line + "\n\n" + rest
	}
	return front + line + "\n\n" + strings.TrimLeft(body, "\n")
}

// generate summarises the newest entries, else the list items. It redacts again: fewer words can
// make a secret.
func generate(text string) string {
	_, body, _, _ := chunker.SplitFrontmatter([]byte(text))
	parts := entriesOf(body)
	if len(parts) > 0 {
		slices.Reverse(parts)
		if len(parts) > maxEntries {
			parts = append(parts[:maxEntries], "and older")
		}
	} else {
		parts = keysOf(body)
	}
	summary, _ := secret.Redact(strings.Join(parts, ", "))
	return summary
}

// keysOf returns list items' keys or beginnings.
func keysOf(body string) (keys []string) {
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\n")
		key := ""
		if m := keyLine().FindStringSubmatch(line); m != nil {
			key = m[1]
		} else if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			key = fewWords(item)
		}
		if key = strings.ToLower(strings.TrimSpace(secret.WithoutCutMark(key))); key != "" && key != "updated" && !slices.Contains(keys, key) {
			if keys = append(keys, key); len(keys) == maxEntries {
				break
			}
		}
	}
	return keys
}

// entriesOf returns the entries' summaries or headings, in few words.
func entriesOf(body string) []string {
	var entries []string
	lines := strings.Split(body, "\n")
	in := false
	for b := range chunker.Blocks(body) {
		switch {
		case b.Level == 1:
			in = false
		case b.Level == 2:
			in = true
			entries = append(entries, fewWords(b.Title))
		case in && b.List:
			for _, line := range lines[b.Start:b.End] {
				if m := keyLine().FindStringSubmatch(line); m != nil && strings.EqualFold(strings.TrimSpace(m[1]), "summary") && m[2] != "" {
					entries[len(entries)-1] = fewWords(m[2])
					break
				}
			}
			in = false
		}
	}
	return slices.DeleteFunc(entries, func(e string) bool { return e == "" })
}

// fewWords returns the beginning of a text, without commas.
func fewWords(text string) string {
	words := strings.Fields(strings.NewReplacer("**", "", "`", "", ",", "").Replace(text))
	few := secret.WithoutCutMark(strings.Join(words[:min(len(words), maxEntryWords)], " "))
	return strings.TrimRight(few, ".;:=")
}

func diff(name, before, after string) string {
	return udiff.Unified("a/"+sanitize.Line(name), "b/"+sanitize.Line(name), before, after)
}
