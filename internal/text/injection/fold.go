package injection

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/sanitize"
)

// fold returns a text for comparison: in lower case, without invisible characters, with plain
// letters for styled ones and for look-alikes within Latin words.
func fold(text string) string {
	if isLowerASCII(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	latin := false // the word so far has a Latin letter
	for i, r := range text {
		switch {
		case r < utf8.RuneSelf:
			r = unicode.ToLower(r)
			latin = r >= 'a' && r <= 'z' || latin && r >= '0' && r <= '9'
		case isInvisible(r):
			continue
		default:
			r = unstyled(r)
			if like := lookAlike(r); like != 0 && (latin || nextIsLatin(text[i:])) {
				r = like
			}
			if r < utf8.RuneSelf {
				latin = unicode.IsLetter(r)
			} else {
				r = unicode.ToLower(r)
				latin = latin && unicode.IsLetter(r)
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isLowerASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf || r >= 'A' && r <= 'Z'
	})
}

// isInvisible reports whether a character has no shape, even if it joins letters.
func isInvisible(r rune) bool {
	return r == 0xAD || r >= 0x200B && r <= 0x200F || r >= 0x202A && r <= 0x202E ||
		r >= 0x2060 && r <= 0x206F || r == 0xFEFF || r >= 0xFE00 && r <= 0xFE0F ||
		r >= 0xE0000 && r <= 0xE0FFF
}

// unstyled returns the lower-case ASCII letter of a wide, circled or mathematical one.
func unstyled(r rune) rune {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E:
		r -= 0xFEE0
	case r >= 0x1D400 && r <= 0x1D6A3:
		r = 'a' + (r-0x1D400)%26
	case r >= 0x24B6 && r <= 0x24E9:
		r = 'a' + (r-0x24B6)%26
	case r >= 0x1F130 && r <= 0x1F149:
		r = 'a' + (r - 0x1F130)
	}
	if r < utf8.RuneSelf {
		r = unicode.ToLower(r)
	}
	return r
}

// lookAlike returns the ASCII letter that a Greek, Cyrillic or Armenian one looks like, or 0.
func lookAlike(r rune) rune {
	if r < 0x370 || r > 0x58F {
		return 0
	}
	like, _ := sanitize.LookAlike(r)
	return rune(like)
}

func nextIsLatin(text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	if size < len(text) {
		c := text[size] | 0x20
		return c >= 'a' && c <= 'z'
	}
	return false
}
