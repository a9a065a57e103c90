package remote

import (
	"unicode"
	"unicode/utf8"
)

// minTokens is the least a model may read; below it, prefixes and cutting leave nothing of a text.
const minTokens = 16

// CountTokens estimates, without the model's tokeniser, how many tokens text has: on the high side
// for ordinary text in any script, so that what is counted as fitting fits.
//
// It charges a word one token, a quarter more for each letter from the fourth on, and three quarters
// where it is no ordinary word: very long, or several capitals (base64). A capital after a small
// letter begins a word. It charges one for each digit, punctuation mark and letter of another
// script, one and a half for a CJK character, and for anything else one a byte, which is what
// byte-level tokenisers fall back to. TestEstimate in package ollama compares it with a real
// tokeniser.
func CountTokens(text string) int {
	var e estimate
	for _, r := range text {
		e.add(r)
	}
	return e.tokens()
}

// cutAt is the number of bytes of the longest beginning of text with at most limit tokens.
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

// An estimate counts in quarters of a token, rune by rune; it never falls.
type estimate struct {
	quarters int
	word     int // letters since the word began, 0 outside of words
	last     rune
}

// Letters of a word: up to the first bound only the first costs, beyond the second it is no word.
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
	case r == ' ' && e.last != ' ': // belongs to the word after it
	case isCJK(r):
		e.quarters += 6
	default:
		e.quarters += 4 * cost(r)
	}
}

// cost is the whole tokens of a rune that is no ASCII letter.
func cost(r rune) int {
	if r < utf8.RuneSelf || unicode.IsLetter(r) || unicode.IsMark(r) {
		return 1
	}
	return utf8.RuneLen(r)
}

func isCJK(r rune) bool {
	return r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
