package paths

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/memcore/memcore/internal/text/sanitize"
)

// A document has one name, in the index, in citations and to every command: the path of its file,
// spelled so that it reads back as exactly that path. What is not plain becomes an escape, as in
// URLs: "a\tb.md" is a%09b.md. So no name hides characters, looks like another one, or holds what
// means something around it: brackets, colons, "#L3".

// Spell returns the spelling of a path with slashes.
func Spell(path string) string {
	var b strings.Builder
	pairs := inPairs(path, '(', ')') && inPairs(path, '（', '）')
	before := rune('/')
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		valid := r != utf8.RuneError || size > 1
		next, _ := utf8.DecodeRuneInString(path[i+size:])
		plain := isPlain(r) && (pairs || !isBracket(r)) && isPlainBetween(before, r, next)
		if isURI := strings.HasPrefix(path[i:], "://"); isURI || valid && plain { // no path of a file has that
			b.WriteRune(r)
		} else {
			for at := range size {
				fmt.Fprintf(&b, "%%%02X", path[i+at])
			}
		}
		before = r
		i += size
	}
	return b.String()
}

// Unspell returns the path that Spell has spelled. A "%" without two hexadecimal digits stays.
func Unspell(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+3 <= len(name) {
			if c, err := strconv.ParseUint(name[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(name[i])
	}
	return b.String()
}

// Spelled returns the spelling of a name that somebody typed or sent: as it is if that is one.
func Spelled(name string) string {
	at := 0
	for {
		scheme, _, found := strings.Cut(name[at:], ":")
		if !found || !isScheme(scheme) {
			return name[:at] + Spell(Unspell(name[at:]))
		}
		at += len(scheme) + 1
	}
}

// isScheme reports whether a word and a colon begin names of documents that are in no file below a
// folder: of a memory service or a session, or on a drive of Windows.
func isScheme(word string) bool {
	switch word {
	case "service", "session":
		return true
	}
	return len(word) == 1 && isLetter(rune(word[0]))
}

func isLetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

// plainMarks are of ASCII: what no shell, Markdown, template of a chat or line of memcore's own
// gives a meaning to in the middle of a name.
const plainMarks = " -._~/@+=,&#'()"

// isPlain reports whether a character can be told from all others where a name is shown.
func isPlain(r rune) bool {
	if r < utf8.RuneSelf {
		return isLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(plainMarks, r)
	}
	const blank = '\u2800' // of Braille
	if !unicode.In(r, unicode.L, unicode.Mn, unicode.Mc, unicode.N, unicode.P, unicode.S) || r == blank ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return false
	}
	if ascii, ok := sanitize.LookAlike(r); ok {
		return isLetter(rune(ascii)) || r == '’'
	}
	if unicode.In(r, unicode.L, unicode.N) {
		return norm.NFKC.String(string(r))[0] >= utf8.RuneSelf // else it is one of ASCII in another style
	}
	return isBracket(r) || !strings.ContainsAny(norm.NFKD.String(string(r)), "/:|<>[](){}\"'`#%\\ ")
}

// isBracket reports whether a character opens or closes a pair that citations stand in.
func isBracket(r rune) bool { return strings.ContainsRune("()（）", r) }

// inPairs reports whether the brackets of a text are in pairs.
func inPairs(text string, open, end rune) bool {
	depth := 0
	for _, r := range text {
		switch r {
		case open:
			depth++
		case end:
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0
}

// isPlainBetween reports whether a plain character is plain among its neighbours, too: a blank is
// not at an end or beside another one, nor "#" before a line's number, nor a foreign letter that
// looks like one of ASCII among those.
func isPlainBetween(before, r, next rune) bool {
	switch r {
	case ' ':
		return before != '/' && before != ' ' && next != '/' && next != utf8.RuneError
	case '#':
		return next != 'L'
	}
	if r < utf8.RuneSelf || unicode.Is(unicode.Latin, r) || !isLetter(before) && !isLetter(next) {
		return true
	}
	_, looksLatin := sanitize.LookAlike(r)
	return !looksLatin || r == '’'
}

// Citation returns "a.md#L10-L20", or "a.md#L10" for one line, of a document's name.
func Citation(name string, first, last int) string {
	if name = Spelled(name); last <= first {
		return fmt.Sprintf("%s#L%d", name, first)
	}
	return fmt.Sprintf("%s#L%d-L%d", name, first, last)
}

// ParseCitation reads what Citation returns; "#L10-20" is accepted, too.
func ParseCitation(text string) (name string, first, last int, ok bool) {
	at := strings.LastIndex(text, "#L")
	if at <= 0 {
		return "", 0, 0, false
	}
	from, to, ranged := strings.Cut(text[at+len("#L"):], "-")
	first, err := strconv.Atoi(from)
	last = first
	if ranged && err == nil {
		last, err = strconv.Atoi(strings.TrimPrefix(to, "L"))
	}
	if err != nil || first < 1 || last < first {
		return "", 0, 0, false
	}
	return Spelled(text[:at]), first, last, true
}
