package session

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A literal finds a text as written, in any case, like grep -F -i.
type literal struct {
	text      string // folded
	wholeWord bool
	runes     int // of text
}

func newLiteral(text string) literal {
	text = fold(text)
	return literal{text: text, runes: utf8.RuneCountInString(text)}
}

// fold replaces runes by the smallest of any case; lengths may change.
func fold(text string) string {
	ascii := true
	for i := 0; i < len(text) && ascii; i++ {
		ascii = text[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToUpper(text)
	}
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, text)
}

// in returns where the literal begins, or -1.
func (l literal) in(text string) int { return l.find(text, fold(text)) }

// find is in with a folded text at hand.
func (l literal) find(text, folded string) int {
	if l.text == "" {
		return -1
	}
	for start, from := 0, 0; ; { // in text and in folded
		at := strings.Index(folded[from:], l.text)
		if at < 0 {
			return -1
		}
		start += skipRunes(text[start:], utf8.RuneCountInString(folded[from:from+at]))
		from += at
		if !l.wholeWord || !insideWord(text, start) && !insideWord(text, start+skipRunes(text[start:], l.runes)) {
			return start
		}
		start, from = start+skipRunes(text[start:], 1), from+skipRunes(folded[from:], 1)
	}
}

// bestIn prefers the literal as a whole word.
func (l literal) bestIn(text string) int {
	words := l
	words.wholeWord = true
	if at := words.in(text); at >= 0 {
		return at
	}
	return l.in(text)
}

// insideWord reports whether a word continues across an offset.
func insideWord(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return at > 0 && at < len(text) && inWord(before) && inWord(after)
}

func inWord(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// skipRunes returns the bytes of the first n runes.
func skipRunes(text string, n int) (end int) {
	for ; n > 0; n-- {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return end
}
