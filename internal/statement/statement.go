// Package statement finds what a Markdown text states, paragraph by paragraph and item by item, and tells when two say the same.
package statement

import (
	"regexp"
	"slices"
	"strings"

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

// Near tells whether two statements (their Words) say about the same: the same words in the same order, but for those without which a sentence
// says the same, and punctuation.
func Near(a, b string) bool {
	if a == b {
		return true
	}
	x, y := telling(a), telling(b)
	return len(x) >= 3 && slices.Equal(x, y)
}

// fillers are words without which a sentence says the same.
var fillers = map[string]bool{"a": true, "an": true, "the": true, "now": true, "please": true, "currently": true, "just": true, "also": true, "that": true, "this": true,
	"der": true, "die": true, "das": true, "ein": true, "eine": true, "jetzt": true, "bitte": true, "auch": true}

func telling(text string) []string {
	var words []string
	for word := range strings.FieldsSeq(text) {
		if word = strings.Trim(word, `.,;:!?"'()[]`); word != "" && !fillers[word] {
			words = append(words, word)
		}
	}
	return words
}

// What may stand around the text that is struck through: the mark of an item with its box, emphasis, and what Strike adds behind it.
var (
	marks      = regexp.MustCompile(`^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:\[[ xX]\]\s+)?`)
	superseded = regexp.MustCompile(`\s*\(superseded\b.*\)$`)
)

// IsStruck tells a statement that is struck through as a whole: it holds no longer. text are its lines.
func IsStruck(text string) bool {
	if !strings.Contains(text, "~~") {
		return false
	}
	said := strings.TrimSpace(text[len(marks.FindString(text)):])
	said = strings.TrimRight(superseded.ReplaceAllString(said, ""), ".!。 ")
	for _, pair := range []string{"**", "__", "*", "_"} {
		if inner, ok := strings.CutPrefix(said, pair); ok {
			if inner, ok = strings.CutSuffix(inner, pair); ok {
				said = inner
				break
			}
		}
	}
	inner, ok := strings.CutPrefix(said, "~~")
	if !ok {
		return false
	}
	inner, ok = strings.CutSuffix(inner, "~~")
	return ok && inner != "" && !strings.Contains(inner, "~~") && strings.TrimSpace(inner) == inner && !strings.HasPrefix(inner, "~") && !strings.HasSuffix(inner, "~")
}

// Strike strikes a statement through and says since when; text are its lines without the last end. ok is false if it has such marks already, or consists of
// several paragraphs.
func Strike(text, since string) (result string, ok bool) {
	mark := marks.FindString(text)
	said := text[len(mark):]
	if strings.Contains(text, "~~") || strings.TrimSpace(said) == "" || strings.Contains(strings.ReplaceAll(said, "\r", ""), "\n\n") {
		return text, false
	}
	start := len(said) - len(strings.TrimLeft(said, " \t"))
	end := len(strings.TrimRight(said, " \t\r\n"))
	result = mark + said[:start] + "~~" + said[start:end] + "~~ (superseded " + since + ")" + said[end:]
	return result, IsStruck(result)
}

// WithoutStruck returns a text with blank lines in place of its struck statements.
func WithoutStruck(text string) string {
	if !strings.Contains(text, "~~") {
		return text
	}
	lines := strings.Split(text, "\n")
	for _, s := range Of(text, 1) {
		if IsStruck(strings.Join(lines[s.Start:s.End], "\n")) {
			for i := s.Start; i < s.End; i++ {
				lines[i] = ""
			}
		}
	}
	return strings.Join(lines, "\n")
}
