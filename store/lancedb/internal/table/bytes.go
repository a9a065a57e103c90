package table

import (
	"strings"
	"unicode/utf8"
)

// The table takes only UTF-8. Other bytes become one of the last 256 code points, which are
// private; so do the bytes of these, which keeps it reversible.
const firstByte = 0x10FF00

// characters returns any text as UTF-8; bytesOf undoes it.
func characters(text string) string {
	if plainText(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if r >= firstByte || r == utf8.RuneError && size == 1 {
			for _, c := range []byte(text[:size]) {
				b.WriteRune(firstByte + rune(c))
			}
		} else {
			b.WriteRune(r)
		}
		text = text[size:]
	}
	return b.String()
}

// plainText reports whether a text surely is the same in both forms: UTF-8 without the first two
// bytes of the last 256.
func plainText(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, "\xf4\x8f")
}

func bytesOf(text string) string {
	if plainText(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if r >= firstByte {
			b.WriteByte(byte(r - firstByte))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
