package notes

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/memcore/memcore/chunker"
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
	summaryLine = regexp.MustCompile(`(?m)^> Summary:[ \t]*(.*?)[ \t]*$`)
	keyLine     = regexp.MustCompile(`^\s*[-*+]\s+(?:\*\*)?([^:*\n]{1,60}?)(?:\*\*)?:\s*(?:\*\*)?\s*(.*)$`)
)

// summaryOf returns what a file says about itself, "" if nothing.
func summaryOf(text string) string {
	if m := summaryLine.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// withSummary returns text with its summary line: the one that is given, else the one that somebody wrote by hand, else one made of what the text
// says. before is the file as it was, which tells whether its line was made.
func withSummary(before, text, given string) string {
	given = strings.Join(strings.Fields(given), " ")
	if given == "" {
		own := summaryOf(text)
		if own != "" && own != generate(before) && own != generate(text) {
			return text
		}
		given = generate(text)
	}
	if given == "" {
		return text
	}
	line := summaryLead + " " + given
	if at := summaryLine.FindStringIndex(text); at != nil {
		return text[:at[0]] + line + text[at[1]:]
	}
	lines := strings.Split(text, "\n")
	for b := range chunker.Blocks(text) {
		if b.Level == 1 && b.Start == 0 {
			rest := lines[b.End:]
			for len(rest) > 0 && strings.TrimSpace(rest[0]) == "" {
				rest = rest[1:]
			}
			return strings.Join(slices.Concat(lines[:b.End], []string{"", line, ""}, rest), "\n")
		}
		break
	}
	return line + "\n\n" + text
}

// generate makes a summary of what a text says: of its newest entries if it has some, else of the keys of its items, else of their beginnings.
func generate(text string) string {
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
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		key := ""
		if m := keyLine.FindStringSubmatch(line); m != nil {
			key = m[1]
		} else if item, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			key = fewWords(item)
		}
		if key = strings.ToLower(strings.TrimSpace(key)); key != "" && key != updatedKey && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return strings.Join(keys[:min(len(keys), mostEntries)], ", ")
}

// entriesOf are the entries of a file, each in a few words: what it says as its summary, else its heading.
func entriesOf(text string) []string {
	var entries []string
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
				if m := keyLine.FindStringSubmatch(line); m != nil && strings.EqualFold(strings.TrimSpace(m[1]), entrySummaryKey) && m[2] != "" {
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
