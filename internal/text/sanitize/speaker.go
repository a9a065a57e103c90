package sanitize

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSpeaker bounds the name of a speaker, in characters.
const maxSpeaker = 40

// Speaker returns the name of who speaks in a log, or "" if it is no name: a name has letters,
// digits, blanks and .-_' only, and at most forty characters. It stands on a line of memcore's own,
// where a longer text would speak for memcore.
func Speaker(name string) string {
	name = strings.Join(strings.Fields(name), " ")
	other := func(r rune) bool {
		return !unicode.In(r, unicode.L, unicode.Mn, unicode.Mc, unicode.Nd) && !strings.ContainsRune(" .-_'", r)
	}
	if shown, _ := Reveal(name); shown != name || utf8.RuneCountInString(name) > maxSpeaker || strings.ContainsFunc(name, other) {
		return ""
	}
	return name
}
