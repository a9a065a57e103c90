package prompt

import (
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
)

// An expression is compiled on first use, if any.
type expression func() *lazy.Expression

func lazily(text string) expression {
	return lazy.Regexp(text)
}

func (e expression) MatchString(text string) bool      { return e().MatchString(text) }
func (e expression) FindStringIndex(text string) []int { return e().FindStringIndex(text) }

// A form matches lines of output or code. Prose, which never matches, is tested first: far faster.
type form struct{ expression }

func (f form) MatchString(line string) bool { return !isProse(line) && f.expression.MatchString(line) }

func (f form) FindStringIndex(line string) []int {
	if isProse(line) {
		return nil
	}
	return f.expression.FindStringIndex(line)
}

// maxProseWord is in bytes. Longer words are code.
const maxProseWord = 79

// isProse reports whether a line is ASCII words with single spaces and common punctuation.
func isProse(line string) bool {
	line = strings.TrimPrefix(line, "- ")
	if strings.HasPrefix(line, "Traceback ") || strings.HasPrefix(line, "index ") {
		return false
	}
	word := 0 // letters and marks since the last space
	for i := range len(line) {
		switch c := line[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z', word > 0 && strings.IndexByte(",.;?!'-", c) >= 0:
			if word++; word > maxProseWord {
				return false
			}
		case c == ' ' && word > 0:
			word = 0
		default:
			return false
		}
	}
	return true
}
