package chunker

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// clean returns src as text to cut: without byte order mark, lines ended by \n alone, invalid UTF-8
// replaced. It has as many lines as src. badLine is the first line with invalid UTF-8, 0 if none.
func clean(src []byte) (text string, badLine int) {
	src = bytes.TrimPrefix(src, []byte(byteOrderMark))
	if bytes.Contains(src, []byte("\r\n")) {
		src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	}
	if utf8.Valid(src) {
		return string(src), 0
	}
	return strings.ToValidUTF8(string(src), "\ufffd"), 1 + bytes.Count(src[:firstInvalid(src)], []byte("\n"))
}

func firstInvalid(src []byte) int {
	at := 0
	for at < len(src) {
		r, n := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

func cleanString(s string) string {
	s = strings.TrimPrefix(s, byteOrderMark)
	if strings.Contains(s, "\r\n") {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

func trimEnd(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// lineEnd is the end of the line that text[at] is on, its \n left out.
func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}
