// Package summary keeps the line "> Summary: …" below the heading of a Markdown file, which says in
// a few words what the file holds.
package summary

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/secret"
)

// Short, because the index of files begins every task.
const (
	maxEntryWords = 9
	maxEntries    = 12
	nearTop       = 3   // blocks from the top that can hold the summary
	maxLength     = 240 // characters of a person's summary with what is added to it
)

var (
	summaryLine = lazy.Regexp(`^> Summary:(.*)`)
	keyLine     = lazy.Regexp(`^\s*[-*+]\s+(?:\*\*)?([^:*\n]{1,60}?)(?:\*\*)?:\s*(?:\*\*)?\s*(.*)$`)
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

// Of returns the summary that a text has; "" for none.
func Of(text string) string {
	_, _, summary := summaryAt(strings.ReplaceAll(text, "\r\n", "\n"))
	return summary
}

// Without empties the summary line of a text if it was generated.
func Without(text string) string {
	if start, end, summary := summaryAt(text); end > 0 && isGenerated(summary, text) {
		return text[:start] + text[end:]
	}
	return text
}

// For returns a summary of a text: its own, or a generated one if it has none,
// or one that was generated before a person edited the file.
func For(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if own := Of(text); own != "" && !isGenerated(own, text) {
		return own
	}
	return generate(text)
}

// isGenerated reports whether a summary says nothing but what is generated of a text, or was before
// a person struck a part of it through.
func isGenerated(own, text string) bool {
	if own == generate(text) {
		return true
	}
	parts := setOf(slices.Concat(partsOf(text), partsOf(statement.Unstruck(text)), []string{andOlder, andMore}))
	return !slices.ContainsFunc(strings.Split(own, ", "), func(part string) bool { return !parts[part] })
}

func setOf(parts []string) map[string]bool {
	set := map[string]bool{}
	for _, part := range parts {
		set[part] = true
	}
	return set
}

// Set sets the given summary of a text; else it keeps a person's, with what the file has since
// then; else it generates one. before is the text before the change: it shows whether the summary
// was generated.
func Set(before, text, given string) string {
	given = strings.Join(strings.Fields(given), " ")
	start, end, own := summaryAt(text)
	if given == "" {
		switch _, _, earlier := summaryAt(before); {
		case own == "" || isGenerated(own, before) || isGenerated(own, text):
			given = generate(text)
		case own != earlier: // it came with the change
			return text
		default:
			given = extended(own, before, text)
		}
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

// WithoutForgotten takes out of the summary of a text what it said of lines that are gone or struck
// through since before.
func WithoutForgotten(before, text string) string {
	start, end, own := summaryAt(text)
	if end == 0 {
		return text
	}
	summary := generate(text)
	if !isGenerated(own, before) {
		now := setOf(partsOf(text))
		gone := slices.DeleteFunc(partsOf(before), func(part string) bool { return now[part] })
		kept := slices.DeleteFunc(strings.Split(own, ", "), func(part string) bool {
			return slices.ContainsFunc(gone, func(other string) bool { return strings.EqualFold(part, other) })
		})
		summary = strings.Join(kept, ", ")
	}
	if summary == "" {
		return text[:start] + strings.TrimLeft(text[end:], "\n")
	}
	return text[:start] + "> Summary: " + summary + text[end:]
}

// extended puts in front of a person's summary what a text says and before did not, unless the
// summary has it. If that is too long for the index of files, the summary is generated.
func extended(own, before, text string) string {
	earlier := setOf(partsOf(before))
	var parts []string
	for _, part := range partsOf(text) {
		if !earlier[part] && !strings.Contains(strings.ToLower(own), strings.ToLower(part)) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return own
	}
	all, _ := secret.Redact(strings.Join(append(parts, own), ", "))
	if utf8.RuneCountInString(all) > maxLength {
		return generate(text)
	}
	return all
}

// These end a generated summary that leaves out entries or items.
const (
	andOlder = "and older"
	andMore  = "and more"
)

// generate summarises a text. It redacts again: fewer words can make a secret.
func generate(text string) string {
	entries, others := entriesOf(text)
	left := maxEntries - len(entries)
	switch {
	case left < 0:
		entries = append(entries[:maxEntries:maxEntries], andOlder)
	case left < len(others):
		entries = append(append(entries, others[:left]...), andMore)
	default:
		entries = append(entries, others...)
	}
	summary, _ := secret.Redact(strings.Join(entries, ", "))
	return summary
}

// partsOf returns all that a text is about in a few words each.
func partsOf(text string) []string {
	entries, others := entriesOf(text)
	return append(entries, others...)
}

// entriesOf returns, of what is not struck through, summaries or headings of the entries, which
// begin with a heading of the second level, the newest first, and the keys or beginnings of the
// items outside of them. Paragraphs count only in a text without these: they are what a stranger
// writes to a model, and introductions.
func entriesOf(text string) (entries, others []string) {
	_, body, _, _ := chunker.SplitFrontmatter([]byte(text))
	lines := strings.Split(statement.WithoutStruck(body), "\n")
	seen := map[string]bool{"": true, "updated": true}
	note := func(all *[]string, key string) {
		if key = strings.ToLower(strings.TrimSpace(secret.WithoutCutMark(key))); !seen[key] {
			seen[key] = true
			*all = append(*all, key)
		}
	}
	var paragraphs []string
	inEntry, wantsSummary := false, false
	for b := range chunker.Blocks(body) {
		isQuote := strings.HasPrefix(strings.TrimSpace(lines[b.Start]), ">") // such as the summary
		switch {
		case b.Level == 1:
			inEntry = false
		case b.Level == 2:
			inEntry, wantsSummary = true, true
			entries = append(entries, firstWords(b.Title))
		case b.List && inEntry && wantsSummary:
			wantsSummary = false
			for _, line := range lines[b.Start:b.End] {
				if m := keyLine().FindStringSubmatch(line); m != nil && strings.EqualFold(strings.TrimSpace(m[1]), "summary") && m[2] != "" {
					entries[len(entries)-1] = firstWords(m[2])
					break
				}
			}
		case inEntry, isQuote:
		case b.List:
			for _, line := range lines[b.Start:b.End] {
				if m := keyLine().FindStringSubmatch(line); m != nil {
					note(&others, m[1])
				} else if _, item, _ := strings.Cut(strings.TrimSpace(line), " "); statement.IsItem(line) {
					note(&others, firstWords(item))
				}
			}
		case b.Prose:
			note(&paragraphs, firstWords(strings.Join(lines[b.Start:b.End], " ")))
		}
	}
	entries = slices.DeleteFunc(entries, func(e string) bool { return e == "" })
	if slices.Reverse(entries); len(entries)+len(others) == 0 {
		others = paragraphs
	}
	return entries, others
}

// firstWords returns the beginning of a text, without commas.
func firstWords(text string) string {
	words := strings.Fields(strings.NewReplacer("**", "", "`", "", ",", "").Replace(text))
	few := secret.WithoutCutMark(strings.Join(words[:min(len(words), maxEntryWords)], " "))
	return strings.TrimRight(few, ".;:=")
}
