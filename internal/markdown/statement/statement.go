// Package statement finds and compares statements in Markdown.
package statement

import (
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/lazy"
)

// A Statement is a paragraph or list item.
type Statement struct {
	Start, End int    // lines, from 0, End exclusive
	Words      string // lower case, without list marks, emphasis and final stop
}

// Of returns the statements of at least so many words. It skips frontmatter, items with nested
// items or code, and text before a colon.
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

var item = lazy.Regexp(`^\s*(?:[-*+]|\d{1,9}[.)])\s`)

// IsItem reports whether a line begins a list item.
func IsItem(line string) bool { return item().MatchString(line) }

// Words returns Statement.Words of a text.
func Words(text string) string { return strings.Join(wordsOf(strings.Split(text, "\n")), " ") }

func indentOf(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

func hasCode(lines []string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "```") || strings.Contains(l, "~~~") })
}

var emphasis = strings.NewReplacer("**", "", "__", "")

func wordsOf(lines []string) []string {
	var words []string
	for _, l := range lines {
		words = append(words, strings.Fields(strings.ToLower(emphasis.Replace(item().ReplaceAllString(l, ""))))...)
	}
	if last := len(words) - 1; last >= 0 {
		words[last] = strings.TrimRight(words[last], ".!。")
		if words[last] == "" {
			words = words[:last]
		}
	}
	return words
}

// Near reports whether two Words differ only in fillers.
func Near(a, b string) bool {
	if a == b {
		return true
	}
	x, y := withoutFillers(a), withoutFillers(b)
	return len(x) >= 3 && slices.Equal(x, y)
}

// fillers do not change a statement.
var fillers = map[string]bool{"a": true, "an": true, "the": true, "now": true, "please": true, "currently": true, "just": true, "also": true, "that": true, "this": true,
	"der": true, "die": true, "das": true, "ein": true, "eine": true, "jetzt": true, "bitte": true, "auch": true}

// WithoutFillers returns a text without words that do not change a statement.
func WithoutFillers(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(text), func(word string) bool {
		return fillers[strings.ToLower(word)]
	}), " ")
}

func withoutFillers(text string) []string {
	var words []string
	for word := range strings.FieldsSeq(text) {
		if word = strings.Trim(word, `.,;:!?"'()[]`); word != "" && !fillers[word] {
			words = append(words, word)
		}
	}
	return words
}

// Around struck text: an item's mark and box, Strike's note.
var (
	marks      = lazy.Regexp(`^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(?:\[[ xX]\]\s+)?`)
	superseded = lazy.Regexp(`\s*\(superseded\b.*\)$`)
)

// IsStruck reports whether a statement is struck through.
func IsStruck(text string) bool {
	if !strings.Contains(text, "~~") {
		return false
	}
	said := strings.TrimSpace(text[len(marks().FindString(text)):])
	said = strings.TrimRight(superseded().ReplaceAllString(said, ""), ".!。 ")
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

// Strike strikes lines through, as superseded since a date. It fails if they have such marks, or
// several paragraphs.
func Strike(text, since string) (result string, ok bool) {
	mark := marks().FindString(text)
	said := text[len(mark):]
	if strings.Contains(text, "~~") || strings.TrimSpace(said) == "" || strings.Contains(strings.ReplaceAll(said, "\r", ""), "\n\n") {
		return text, false
	}
	start := len(said) - len(strings.TrimLeft(said, " \t"))
	end := len(strings.TrimRight(said, " \t\r\n"))
	result = mark + said[:start] + "~~" + said[start:end] + "~~ (superseded " + since + ")" + said[end:]
	return result, IsStruck(result)
}

// Unstruck takes the marks of Strike off struck statements.
func Unstruck(text string) string {
	if !strings.Contains(text, "~~") {
		return text
	}
	lines := strings.Split(text, "\n")
	for _, s := range slices.Backward(Of(text, 1)) {
		if said := strings.TrimSpace(strings.Join(lines[s.Start:s.End], "\n")); IsStruck(said) {
			lines = slices.Replace(lines, s.Start, s.End, strings.ReplaceAll(superseded().ReplaceAllString(said, ""), "~~", ""))
		}
	}
	return strings.Join(lines, "\n")
}

// WithoutStruck blanks the lines of struck statements.
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
