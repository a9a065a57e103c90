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
// It charges a word its first letter and then every fourth, or every other one of a word so long
// that it is none (hashes, base64); each digit; each punctuation mark; a CJK character one and a
// half; a letter of another script one; and every byte of anything else, which is what byte-level
// tokenisers fall back to. TestEstimate in package ollama compares it with a real tokeniser.
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
	word     int // ASCII letters since the last other rune
	blank    bool
}

const longWord = 12 // letters; few words are longer, and those are split finely

func (e *estimate) tokens() int { return (e.quarters + 3) / 4 }

func (e *estimate) add(r rune) {
	letter, blank := 'a' <= r|0x20 && r|0x20 <= 'z', r == ' '
	switch {
	case letter && e.word == 0, r >= '0' && r <= '9':
		e.quarters += 4
	case letter && e.word < longWord:
		e.quarters++
	case letter:
		e.quarters += 3
	case blank && !e.blank: // a single space belongs to the word after it
	default:
		e.quarters += 4 * cost(r)
		if isCJK(r) {
			e.quarters += 2
		}
	}
	if letter {
		e.word++
	} else {
		e.word = 0
	}
	e.blank = blank
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
