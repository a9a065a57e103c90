package notes

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aymanbagabas/go-udiff"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/secret"
)

// A file's summary is for the index that every task begins with, so it is short: fewer than ten words for each entry.
const (
	wordsOfEntry    = 9
	mostEntries     = 12
	summaryLead     = "> Summary:"
	updatedKey      = "updated"
	entrySummaryKey = "summary"
)

var (
	summaryLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^> Summary:.*$`)
	})
	keyLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\s*[-*+]\s+(?:\*\*)?([^:*\n]{1,60}?)(?:\*\*)?:\s*(?:\*\*)?\s*(.*)$`)
	})
)

// summaryAt is where a file's summary line stands: a quote of its own near the top, behind frontmatter.
func summaryAt(text string) (start, end int, ok bool) {
	_, body, _, _ := chunker.SplitFrontmatter([]byte(text))
	skipped := len(text) - len(body)
	at, line, seen := skipped, 0, 0
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
		if m := summaryLine().FindStringIndex(text[at:]); m != nil && m[0] == 0 {
			return at, at + m[1], true
		}
	}
	return 0, 0, false
}

// nearTop is how many blocks from the top a summary may stand.
const nearTop = 3

// SummaryOf returns what a file says about itself, "" if nothing.
func SummaryOf(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	start, end, ok := summaryAt(text)
	if !ok {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(text[start:end], summaryLead))
}

// WithoutSummary is a file without the line of its summary if that was made, as it is by every change; one that somebody wrote by hand stays.
func WithoutSummary(text string) string {
	if start, end, ok := summaryAt(text); ok && SummaryOf(text) == generate(text) {
		return text[:start] + text[end:]
	}
	return text
}

// withSummary returns text with its summary line: the one that is given, else the one that somebody wrote by hand, else one made of what the text
// says. before is the file as it was, which tells whether its line was made. Both are valid UTF-8.
func withSummary(before, text, given string) string {
	given = strings.Join(strings.Fields(given), " ")
	if given == "" {
		own := SummaryOf(text)
		if own != "" && own != generate(before) && own != generate(text) {
			return text
		}
		given = generate(text)
	}
	if given == "" {
		return text
	}
	line := summaryLead + " " + given
	if start, end, ok := summaryAt(text); ok {
		return text[:start] + line + text[end:]
	}
	_, body, _, _ := chunker.SplitFrontmatter([]byte(text))
	front := text[:len(text)-len(body)]
	lines := strings.Split(body, "\n")
	for b := range chunker.Blocks(body) {
		if b.Level == 1 {
			rest := lines[b.End:]
			for len(rest) > 0 && strings.TrimSpace(rest[0]) == "" {
				rest = rest[1:]
			}
			return front + strings.Join(slices.Concat(lines[:b.End], []string{"", line, ""}, rest), "\n")
		}
		break
	}
	return front + line + "\n\n" + strings.TrimLeft(body, "\n")
}

// generate makes a summary of what a text says: of its newest entries if it has some, else of the keys of its items, else of their beginnings.
// What is left out of words can make a secret of what was none.
func generate(text string) string {
	summary, _ := secret.Redact(outline(text))
	return summary
}

func outline(text string) string {
	if entries := entriesOf(text); len(entries) > 0 {
		slices.Reverse(entries)
		more := len(entries) - mostEntries
		entries = entries[:min(len(entries), mostEntries)]
		if more > 0 {
			entries = append(entries, "and older")
		}
		return strings.Join(entries, ", ")
	}
	var keys []string
	_, body, _, _ := chunker.SplitFrontmatter([]byte(text))
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\n")
		key := ""
		if m := keyLine().FindStringSubmatch(line); m != nil {
			key = m[1]
		} else if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			key = fewWords(item)
		}
		if key = strings.ToLower(strings.TrimSpace(key)); key != "" && key != updatedKey && !slices.Contains(keys, key) {
			if keys = append(keys, key); len(keys) == mostEntries {
				break // a file may have any number of them
			}
		}
	}
	return strings.Join(keys, ", ")
}

// entriesOf are the entries of a file, each in a few words: what it says as its summary, else its heading.
func entriesOf(text string) []string {
	var entries []string
	_, text, _, _ = chunker.SplitFrontmatter([]byte(text))
	lines := strings.Split(text, "\n")
	in := false
	for b := range chunker.Blocks(text) {
		switch {
		case b.Level == 1:
			in = false
		case b.Level == 2:
			in = true
			entries = append(entries, fewWords(b.Title))
		case in && b.List:
			for _, line := range lines[b.Start:b.End] {
				if m := keyLine().FindStringSubmatch(line); m != nil && strings.EqualFold(strings.TrimSpace(m[1]), entrySummaryKey) && m[2] != "" {
					entries[len(entries)-1] = fewWords(m[2])
					break
				}
			}
			in = false
		}
	}
	return slices.DeleteFunc(entries, func(e string) bool { return e == "" })
}

// fewWords is the beginning of a text, without what would make it look like several entries.
func fewWords(text string) string {
	words := strings.Fields(strings.NewReplacer("**", "", "`", "", ",", "").Replace(text))
	if len(words) > wordsOfEntry {
		words = words[:wordsOfEntry]
	}
	return strings.TrimRight(strings.Join(words, " "), ".;:")
}

func diff(name, before, after string) string {
	return udiff.Unified("a/"+name, "b/"+name, before, after)
}
