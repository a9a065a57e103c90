package charset

import (
	"bufio"
	"bytes"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	encoding "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// IsUTF16 reports whether text is UTF-16, by its byte order mark or, where that is safe, by what it
// says.
func IsUTF16(text []byte) bool {
	_, is := orderOf(text)
	return is
}

// BeginsUTF16 reports whether a file begins as JSON in UTF-16 does: with an ASCII character of two
// bytes, behind a byte order mark or another. Two broken bytes of UTF-8 may look like a mark.
func BeginsUTF16(head []byte) bool {
	_, is := orderOfHead(head)
	return is
}

// UTF16Reader decodes such a file.
func UTF16Reader(file io.Reader) io.Reader {
	in := bufio.NewReader(file)
	head, _ := in.Peek(4) // an error is met again
	order, _ := orderOfHead(head)
	return transform.NewReader(in, encoding.UTF16(order, encoding.UseBOM).NewDecoder())
}

func orderOfHead(head []byte) (order encoding.Endianness, is bool) {
	if len(head) < 4 {
		return encoding.LittleEndian, false
	}
	_, marked := markOf(head)
	isASCII := func(b byte) bool { return b >= '\t' && b < 0x7f }
	if head[2] == 0 && isASCII(head[3]) {
		return encoding.BigEndian, marked || head[0] == 0 && isASCII(head[1])
	}
	return encoding.LittleEndian, head[3] == 0 && isASCII(head[2]) && (marked || head[1] == 0 && isASCII(head[0]))
}

func markOf(text []byte) (order encoding.Endianness, is bool) {
	if bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return encoding.BigEndian, true
	}
	return encoding.LittleEndian, bytes.HasPrefix(text, []byte("\xff\xfe"))
}

// orderOf returns the byte order of UTF-16.
func orderOf(text []byte) (order encoding.Endianness, is bool) {
	// Half of an ASCII character is a NUL byte.
	if order, is = markOf(text); is || !bytes.ContainsFunc(text, isControl) {
		return order, is
	}
	little, big := asciiOfUTF16(text, encoding.LittleEndian), asciiOfUTF16(text, encoding.BigEndian)
	if big > little {
		return encoding.BigEndian, true
	}
	return encoding.LittleEndian, little > big
}

// Below so many characters only ASCII is told from chance.
const minUTF16 = 16

// asciiOfUTF16 returns how many ASCII characters, such as spaces, a text without a mark has if it
// reads as UTF-16; else 0. It does if all characters are assigned, and half of them are ASCII, or
// it is no UTF-8 and its letters are of one script beside ASCII. Each pair of letters in UTF-8 is a
// Chinese character in UTF-16, so that these alone prove nothing.
func asciiOfUTF16(text []byte, order encoding.Endianness) int {
	units := make([]uint16, len(text)/2)
	for i := range units {
		low, high := text[2*i], text[2*i+1]
		if order == encoding.BigEndian {
			low, high = high, low
		}
		units[i] = uint16(low) | uint16(high)<<8
	}
	ascii, letters := 0, 0
	scripts := map[*unicode.RangeTable]int{}
	for _, r := range utf16.Decode(units) {
		switch {
		case r < utf8.RuneSelf && !isControl(r):
			ascii++
		case r == utf8.RuneError || !unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r):
			return 0
		case unicode.IsLetter(r):
			letters++
			scripts[scriptOf(r)]++
		}
	}
	if len(units) >= 4 && 2*ascii >= len(units) {
		return ascii
	}
	most := 0
	for script, n := range scripts {
		if script != nil {
			most = max(most, n)
		}
	}
	if len(units) < minUTF16 || readsUTF8(text) || 10*most < 9*letters {
		return 0
	}
	return ascii
}

// scripts are those whose letters are told apart.
var scripts = []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Hangul, unicode.Arabic, unicode.Hebrew, unicode.Thai,
	unicode.Devanagari, unicode.Bengali, unicode.Tamil, unicode.Telugu, unicode.Gujarati, unicode.Kannada, unicode.Malayalam, unicode.Gurmukhi, unicode.Georgian, unicode.Armenian}

// scriptOf returns one script for Chinese and Japanese, and nil for rare ones.
func scriptOf(r rune) *unicode.RangeTable {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Lm) {
		return unicode.Han
	}
	for _, script := range scripts {
		if unicode.Is(script, r) {
			return script
		}
	}
	return nil
}
