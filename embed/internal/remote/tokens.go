package remote

import (
	"unicode"
	"unicode/utf8"
)

// minTokens leaves room beside prefixes.
const minTokens = 16

// CountTokens estimates tokens without the model's tokeniser, on the high side.
//
// A word costs one token and, from its fourth letter on, a quarter a letter; three quarters if it
// is very long or has several capitals (base64). A capital after a small letter begins a word. A
// digit, punctuation mark or letter of another script costs one, a CJK character one and a half,
// anything else one a byte. TestEstimate in package ollama compares it with a real tokeniser.
func CountTokens(text string) int {
	var e estimate
	for _, r := range text {
		e.add(r)
	}
	return e.tokens()
}

// cutAt returns the bytes of the longest prefix within limit.
func cutAt(text string, limit int) int {
	var e estimate
	for i, r := range text {
		e.add(r)
		if e.tokens() > limit {
			return i
		}
	}
	return len(text)
}

// An estimate counts quarters of tokens by rune. It never decreases.
type estimate struct {
	quarters int
	word     int // letters since the word began, 0 outside of words
	last     rune
}

// Up to shortWord letters cost one token; beyond longWord text is not ordinary.
const (
	shortWord = 3
	longWord  = 12
)

func (e *estimate) tokens() int { return (e.quarters + 3) / 4 }

func (e *estimate) add(r rune) {
	if 'a' <= r|0x20 && r|0x20 <= 'z' {
		e.letter(r)
	} else {
		e.other(r)
	}
	e.last = r
}

func (e *estimate) letter(r rune) {
	if isUpper(r) && !isUpper(e.last) {
		e.word = 0
	}
	e.word++
	switch {
	case e.word == 1:
		e.quarters += 4
	case e.word > longWord, isUpper(r), isUpper(e.last) && e.word > 2:
		e.quarters += 3
	case e.word > shortWord:
		e.quarters++
	}
}

func isUpper(r rune) bool { return 'A' <= r && r <= 'Z' }

func (e *estimate) other(r rune) {
	e.word = 0
	switch {
	case r == ' ' && e.last != ' ': // part of the next word
	case isCJK(r):
		e.quarters += 6
	default:
		e.quarters += 4 * cost(r)
	}
}

func cost(r rune) int {
	if r < utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsMark(r) {
		return 1
	}
	return utf8.RuneLen(r)
}

func isCJK(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
