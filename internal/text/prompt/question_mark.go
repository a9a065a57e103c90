package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// HasQuestionMark reports whether a text has a question mark of any script that has one. The Greek
// one is mostly typed as a semicolon, which counts behind a Greek word, or at the end of a text
// with one.
func HasQuestionMark(text string) bool {
	if strings.IndexByte(text, '?') >= 0 {
		return true
	}
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	greek, last := false, ' '
	for i, r := range text {
		switch r {
		case '？', '﹖', '؟', '՞', '፧', '⳺', '⳻', '꘏', '꛷', '𖺚', '¿', '⁇', '⁈', '⁉', '‽':
			return true
		case ';', '\u037e':
			if greek && (isGreek(last) || i+utf8.RuneLen(r) == len(text)) {
				return true
			}
		default:
			greek = greek || isGreek(r)
		}
		last = r
	}
	return false
}

// isGreek is quick for other scripts, of which most texts are.
func isGreek(r rune) bool { return r >= 0x370 && unicode.Is(unicode.Greek, r) }
