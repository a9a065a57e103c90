// Package excerpt cuts long texts. Sizes are in bytes; a character that a cut would split is left
// out.
package excerpt

import (
	"strings"
	"unicode/utf8"
)

const mark = "…"

// Head returns the first max bytes of a text.
func Head(text string, max int) string {
	if len(text) <= max {
		return text
	}
	for max > 0 && !utf8.RuneStart(text[max]) {
		max--
	}
	if max <= 0 {
		return ""
	}
	return text[:max]
}

// Of returns a text, or its beginning and "…" in at most max bytes.
func Of(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return Head(text, max-len(mark)) + mark
}

// Words is Of that cuts between words or clauses, where they are not too long.
func Words(text string, max int) string {
	if len(text) <= max {
		return text
	}
	text = Head(text, max-len(mark))
	if at := strings.LastIndexAny(text, " ,;:，。；：、"); at > len(text)*2/3 {
		text = text[:at]
	}
	return strings.TrimRight(text, " ,;:(-—–") + mark
}

// Tail returns the last max bytes of a text.
func Tail(text string, max int) string {
	if len(text) <= max {
		return text
	}
	from := len(text) - max
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// Ends returns the first and the last max bytes of a text, and "…" on a line between them.
func Ends(text string, max int) string {
	const gap = "\n" + mark + "\n"
	if len(text) <= 2*max+len(gap) {
		return text
	}
	return Head(text, max) + gap + Tail(text, max)
}
