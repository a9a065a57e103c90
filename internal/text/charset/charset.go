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
)

// HasMark reports whether text begins with the byte order mark of UTF-16. It may hold NUL bytes.
func HasMark(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff"))
}

// Decode returns a file's text as UTF-8 without byte order mark, and the name of its encoding, or ""
// for UTF-8. Text of few bytes that are not UTF-8 stays as it is. Where more bytes are wrong than
// there are characters of several bytes, it is Windows-1252, which includes the letters of
// ISO 8859-1.
func Decode(text []byte) (decoded []byte, encoding string) {
	if HasMark(text) {
		if decoded, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(text); err == nil {
			return decoded, UTF16
		}
	}
	if !fitsUTF8(text) {
		if decoded, err := charmap.Windows1252.NewDecoder().Bytes(text); err == nil {
			return decoded, Windows1252
		}
	}
	return bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), ""
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
