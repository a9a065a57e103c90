package wordpiece

import "unicode"

// A class is how the tokeniser treats an ASCII character.
type class uint8

const (
	letter      class = iota // of a word, also digits
	drop                     // a control
	space                    // ends a word
	punctuation              // a word of its own; all other characters
)

var asciiClass, asciiLower = asciiTables()

func asciiTables() (classes [128]class, lowered [128]byte) {
	for c := range byte(128) {
		classes[c], lowered[c] = classOf(c), byte(unicode.ToLower(rune(c)))
	}
	return classes, lowered
}

func classOf(c byte) class {
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		return space
	case c < ' ' || c == 0x7f:
		return drop
	case unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)):
		return letter
	}
	return punctuation
}

// isOther reports whether r is a control, format or private-use character.
func isOther(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) && !unicode.Is(young, r)
}

// These changed class after version 8 of Unicode.
const (
	pamudpod = '\u1734'     // was an accent
	chi      = '\u166d'     // was punctuation
	sandhi   = '\U000111c9' // was punctuation; in young, too, since it is an accent now
)

// isAccent reports whether r is a mark without width.
func isAccent(r rune) bool {
	return r >= 0x300 && (unicode.Is(unicode.Mn, r) && !unicode.Is(young, r) || r == pamudpod)
}

func isPunctuation(r rune) bool {
	if r < 128 {
		return asciiClass[r] == punctuation
	}
	return unicode.Is(unicode.P, r) && !unicode.Is(young, r) || r == chi || r == sandhi
}

// chinese are the blocks whose characters are words. The reference tokeniser has the gap before
// 2B920 too.
var chinese = [...][2]rune{
	{0x3400, 0x4dbf}, {0x4e00, 0x9fff}, {0xf900, 0xfaff},
	{0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
}

func isChinese(r rune) bool {
	if r < chinese[0][0] {
		return false
	}
	for _, block := range chinese {
		if r >= block[0] && r <= block[1] {
			return true
		}
	}
	return false
}
