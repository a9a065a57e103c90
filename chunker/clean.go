package chunker

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// badLine is the first with invalid UTF-8, or 0.
func clean(src []byte) (text string, badLine int) {
	text = string(src)
	if !utf8.ValidString(text) {
		badLine = 1 + strings.Count(text[:firstInvalid(text)], "\n")
	}
	return cleanString(text), badLine
}

func firstInvalid(text string) int {
	for at, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[at:], "\ufffd") {
			return at
		}
	}
	return len(text)
}

// cleanString drops byte order mark and carriage returns, mends UTF-8.
func cleanString(s string) string {
	s = strings.ReplaceAll(strings.TrimPrefix(s, byteOrderMark), "\r\n", "\n")
	return strings.ToValidUTF8(s, "\ufffd")
}

func trimEnd(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// lineEnd is before the line break.
func lineEnd(text string, at int) int {
	if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(text)
}
