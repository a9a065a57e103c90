package suspicion

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// fold is a text as it is compared: lower case, without characters that nobody sees, wide and decorated forms of ASCII letters as
// those, and look-alikes of other alphabets in words that are otherwise Latin as what they look like.
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
			if r >= 'A' && r <= 'Z' {
				r += 'a' - 'A'
			}
			latin = r >= 'a' && r <= 'z' || latin && r >= '0' && r <= '9'
		case isInvisible(r):
			continue
		default:
			r = plain(r)
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
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			return false
		}
	}
	return true
}

// isInvisible tells characters without a shape; those that join letters of Indic and Arabic scripts are left out of words as well.
func isInvisible(r rune) bool {
	return r == 0xAD || r >= 0x200B && r <= 0x200F || r >= 0x202A && r <= 0x202E || r >= 0x2060 && r <= 0x206F || r == 0xFEFF ||
		r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0000 && r <= 0xE0FFF
}

// plain turns wide, circled and mathematical letters into ASCII ones.
func plain(r rune) rune {
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
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// lookAlike is the ASCII letter that a Greek or Cyrillic one looks like; 0 if none.
func lookAlike(r rune) rune {
	if at := strings.IndexRune(otherLetters, r); at >= 0 {
		return rune(latinLetters[utf8.RuneCountInString(otherLetters[:at])])
	}
	return 0
}

const (
	otherLetters = "аеорсухіјѕԁһӏвкмнтАЕОРСУХІЈЅВКМНТоαενικρτυΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"
	latinLetters = "aeopcyxijsdhlbkmhtaeopcyxijsbkmhtoaevikptuabezhikmnoptyxo"
)

func nextIsLatin(text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	if size < len(text) {
		c := text[size] | 0x20
		return c >= 'a' && c <= 'z'
	}
	return false
}
