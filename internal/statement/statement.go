// Package statement finds what a Markdown text states, paragraph by paragraph and item by item, and tells when two say the same.
package statement

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/memcore/memcore/chunker"
)

// A Statement is a paragraph or an item of a list.
type Statement struct {
	Start, End int    // lines, from 0, End exclusive
	Words      string // what it says: its words in lower case, without marks of lists and emphasis, and full stop
}

// Of returns the statements of a text without frontmatter that have some words at least. Items that hold others, or code, are none, nor
// is what announces something ("as follows:").
func Of(text string, least int) []Statement {
	lines := strings.Split(text, "\n")
	var all []Statement
	add := func(start, end int) {
		words := wordsOf(lines[start:end])
		if len(words) >= least && len(words) > 0 && !strings.HasSuffix(words[len(words)-1], ":") {
			all = append(all, Statement{start, end, strings.Join(words, " ")})
		}
	}
	for b := range chunker.Blocks(text) {
		switch {
		case b.Prose:
			add(b.Start, b.End)
		case b.List:
			for start := b.Start; start < b.End; {
				end := start + 1
				for end < b.End && !IsItem(lines[end]) {
					end++
				}
				nested := end < b.End && indentOf(lines[end]) > indentOf(lines[start])
				if IsItem(lines[start]) && !nested && !hasCode(lines[start:end]) {
					add(start, end)
				}
				start = end
			}
		}
	}
	return all
}

var item = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,9}[.)])\s`)

// IsItem tells the first line of an item of a list.
func IsItem(line string) bool { return item.MatchString(line) }

// Words is what a text says, as Statement.Words has it.
func Words(text string) string { return strings.Join(wordsOf(strings.Split(text, "\n")), " ") }

func indentOf(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

func hasCode(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "```") || strings.Contains(l, "~~~") })
}

var emphasis = strings.NewReplacer("**", "", "__", "")

func wordsOf(lines []string) []string {
	var words []string
	for _, l := range lines {
		words = append(words, strings.Fields(strings.ToLower(emphasis.Replace(item.ReplaceAllString(l, ""))))...)
	}
	if last := len(words) - 1; last >= 0 {
		words[last] = strings.TrimRight(words[last], ".!。")
		if words[last] == "" {
			words = words[:last]
		}
	}
	return words
}

// near is the share of words two statements must have in common to say about the same.
const near = 0.8

// Near tells whether two statements (their Words) say about the same: nearly all words, and in the same order those that make a difference, such
// as numbers, names in code, and "not".
func Near(a, b string) bool {
	if a == b {
		return true
	}
	x, y := plainWords(a), plainWords(b)
	if !slices.Equal(deciding(x), deciding(y)) {
		return false
	}
	setX, setY := setOf(x), setOf(y)
	if len(setX) < 4 || len(setY) < 4 {
		return false
	}
	common := 0
	for w := range setX {
		if setY[w] {
			common++
		}
	}
	return float64(common) >= near*float64(len(setX)+len(setY)-common)
}

func plainWords(text string) []string {
	var words []string
	for word := range strings.FieldsSeq(text) {
		if word = strings.Trim(word, `.,;:!?"'()[]`); word != "" {
			words = append(words, word)
		}
	}
	return words
}

func deciding(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !decides(w) })
}

func setOf(words []string) map[string]bool {
	set := map[string]bool{}
	for _, w := range words {
		set[w] = true
	}
	return set
}

// decides tells a word without which a statement would be another one.
func decides(word string) bool {
	switch word {
	case "not", "no", "never", "don't", "without", "nicht", "kein", "keine", "nie", "ohne", "old", "new", "before", "after":
		return true
	}
	return strings.ContainsFunc(word, unicode.IsDigit) || strings.ContainsAny(word, "`_/.@=<>#$-") || strings.HasSuffix(word, "n't")
}
