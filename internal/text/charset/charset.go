// Package charset reads text files that are not UTF-8.
package charset

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// Names of encodings other than UTF-8.
const (
	UTF16       = "UTF-16"
	Windows1252 = "Windows-1252"
	// Unknown is neither of these: a legacy encoding of Cyrillic, Greek, Chinese, Japanese and
	// others.
	Unknown = "unknown"
)

// Decode returns a file's text as UTF-8 without byte order mark, and the name of its encoding, or
// "" for UTF-8. NUL bytes stay (CutNULs). Text of few bytes that are not UTF-8 stays as it is.
// Where more bytes are wrong than there are characters of several bytes, it is Windows-1252, which
// includes the letters of ISO 8859-1, if it reads like a language of these letters. Else the
// encoding is Unknown: of such a text its ASCII is left, with U+FFFD for all between.
func Decode(text []byte) (decoded []byte, encoding string) {
	if order, is := orderOf(text); is {
		if decoded, err := unicode.UTF16(order, unicode.UseBOM).NewDecoder().Bytes(text); err == nil {
			return decoded, UTF16
		}
	}
	switch {
	case fitsUTF8(text):
	case !readsWestern(text):
		return onlyASCII(text), Unknown
	default:
		if decoded, err := charmap.Windows1252.NewDecoder().Bytes(text); err == nil {
			return decoded, Windows1252
		}
	}
	return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), ""
}

// readsWestern reports whether a text can be Windows-1252. In languages that are written so,
// letters with marks stand alone or by two, and signs such as ³ or ¿ not within a word. Other
// alphabets in encodings of a byte have words of such bytes, and Chinese and Japanese use bytes
// that Windows-1252 lacks.
func readsWestern(text []byte) bool {
	strange, all := 0, 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		start, hasLetter := i, false
		for ; i < len(text) && text[i] >= utf8.RuneSelf; i++ {
			hasLetter = hasLetter || text[i] >= 0xc0
			isInside := i > 0 && i+1 < len(text) && isLetter(text[i-1]) && isLetter(text[i+1])
			if bytes.IndexByte(lacking, text[i]) >= 0 || isInside && bytes.IndexByte(signs, text[i]) >= 0 {
				strange++
			}
		}
		if all += i - start; i-start >= 3 && hasLetter {
			strange += i - start
		}
	}
	return 4*strange <= all
}

var (
	lacking = []byte("\x81\x83\x88\x8d\x8f\x90\x98\x9d") // of Windows-1252, or hardly ever used
	signs   = []byte("\xa1\xa2\xa3\xa4\xa5\xa6\xa8\xa9\xab\xac\xae\xaf\xb0\xb1\xb2\xb3\xb5\xb6\xb8\xb9\xbb\xbc\xbd\xbe\xbf")
)

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' || b > 0xa0 }

// onlyASCII puts one U+FFFD for what is not ASCII in a row.
func onlyASCII(text []byte) []byte {
	var out []byte
	for i, b := range text {
		switch {
		case b < utf8.RuneSelf:
			out = append(out, b)
		case i == 0 || text[i-1] < utf8.RuneSelf:
			out = append(out, "\ufffd"...)
		}
	}
	return out
}

func fitsUTF8(text []byte) bool {
	if utf8.Valid(text) {
		return true
	}
	fits := 0
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size == 1 {
			fits--
		} else if size > 1 {
			fits++
		}
		text = text[size:]
	}
	return fits >= 0
}

// readsUTF8 reports whether few characters of a text are such as no text has, apart from NUL bytes.
func readsUTF8(text []byte) bool {
	strange, all := 0, 0
	for _, r := range string(text) {
		switch {
		case r == 0:
			continue
		case r == utf8.RuneError || isControl(r):
			strange++
		}
		all += utf8.RuneLen(r)
	}
	return 20*strange <= all
}

// isControl reports whether no text has a character. Logs of terminals have the escape character.
func isControl(r rune) bool {
	return r < ' ' && !(r >= '\b' && r <= '\r') && r != '\x1b' || r == 0x7f
}
