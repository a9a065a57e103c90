package excerpt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Literal finds a text as it is written, in upper or lower case, like grep -F -i.
type Literal struct{ folded string }

// NewLiteral returns a literal that finds text.
func NewLiteral(text string) Literal { return Literal{fold(text)} }

// In returns where in text the literal begins, in bytes, or -1. An empty literal is nowhere.
func (l Literal) In(text string) int {
	if l.folded == "" {
		return -1
	}
	folded := fold(text)
	at := strings.Index(folded, l.folded)
	if at < 0 {
		return -1
	}
	start := 0 // folding may change the lengths of runes, but not their number
	for range folded[:at] {
		_, size := utf8.DecodeRuneInString(text[start:])
		start += size
	}
	return start
}

// fold replaces each rune by the smallest one that differs from it only in case.
func fold(text string) string {
	ascii := true
	for i := 0; i < len(text) && ascii; i++ {
		ascii = text[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToUpper(text)
	}
	return strings.Map(func(r rune) rune {
		smallest := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			smallest = min(smallest, next)
		}
		return smallest
	}, text)
}

// Around returns about limit characters of a text around where it holds query, or else in the line
// with most of its words, and how many lines are before that place. A cut end becomes "…".
func Around(text, query string, limit int) (part string, lines int) {
	at := NewLiteral(strings.TrimSpace(query)).In(text)
	if at < 0 {
		at = bestLine(text, query)
	}
	lines = strings.Count(text[:at], "\n")
	runes := []rune(text)
	if len(runes) <= limit {
		return text, lines
	}
	start := max(0, min(utf8.RuneCountInString(text[:at])-limit/2, len(runes)-limit))
	cut := runes[start : start+limit]
	if start > 0 {
		cut[0] = '…'
	}
	if start+limit < len(runes) {
		cut[limit-1] = '…'
	}
	return string(cut), lines
}

// stemLength is how many characters of a word must be alike, since words have endings.
const stemLength = 5

// bestLine returns the place of the first word of the query in the line that has most of its words.
func bestLine(text, query string) (at int) {
	words := strings.FieldsFunc(query, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	stems := make([]Literal, len(words))
	for i, word := range words {
		runes := []rune(word)
		stems[i] = NewLiteral(string(runes[:min(len(runes), stemLength)]))
	}
	most, offset := 0, 0
	for line := range strings.Lines(text) {
		n, first := 0, len(line)
		for i, stem := range stems {
			if place := stem.In(line); place >= 0 {
				n += min(len(words[i]), 8) // "the" says less than a long word
				first = min(first, place)
			}
		}
		if n > most {
			most, at = n, offset+first
		}
		offset += len(line)
	}
	return at
}
