package table

import (
	"strings"
	"unicode/utf8"
)

// The table takes texts in UTF-8 only, but a file can have any bytes in its name. A byte that is not
// part of a character becomes one of the last 256 code points, all of them for private use; so do the
// bytes of such a character itself, so that nothing is lost or mixed up.
const firstByte = 0x10FF00

// characters makes UTF-8 of any text; bytesOf undoes it.
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

// plainText tells whether a text certainly is the same in both forms: it is UTF-8 and has no character
// that begins with the same two bytes as the last 256.
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
