package chunker

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	enders     = ".!?…؟।።"   // end a sentence where white space follows
	fullEnders = "。！？｡︒‼⁇⁈⁉" // end one anywhere
	closers    = "\"')]}»”’」』】）〉》*_`~"
	clauses    = ",;:，；：、،—–)）"
)

// Words with a full stop that ends no sentence.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "vs": true, "cf": true,
	"e.g": true, "i.e": true, "eg": true, "ie": true, "fig": true, "no": true, "approx": true, "ca": true,
	"jr": true, "sr": true, "inc": true, "ltd": true, "dept": true, "vol": true, "pp": true,
}

// sentenceEnd returns where the sentence that begins at text[from] ends, the white space after it
// left out; the end of text if it does not end before.
func sentenceEnd(text string, from int) int {
	for i := from; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		next := i + n
		switch {
		case r < utf8.RuneSelf && r != '.' && r != '!' && r != '?' && r != '\n':
		case r == '\n':
			if i > from && hardBreak(text[from:i]) {
				return from + len(trimEnd(text[from:i]))
			}
		case strings.ContainsRune(fullEnders, r):
			return afterAny(text, next, fullEnders+enders+closers)
		case strings.ContainsRune(enders, r):
			end := afterAny(text, next, fullEnders+enders+closers)
			if endsHere(text, i, end, r) {
				return end
			}
			next = end
		}
		i = next
	}
	return len(text)
}

// hardBreak tells whether a line ends so that Markdown shows a line break.
func hardBreak(line string) bool {
	return strings.HasSuffix(line, "  ") || strings.HasSuffix(line, `\`)
}

// endsHere tells whether the mark r at text[at:end] ends a sentence.
func endsHere(text string, at, end int, r rune) bool {
	if end == len(text) {
		return true
	}
	after, _ := utf8.DecodeRuneInString(text[end:])
	if !unicode.IsSpace(after) {
		return false
	}
	if r != '.' {
		return true
	}
	follower, _ := utf8.DecodeRuneInString(strings.TrimSpace(window64(text[end:])))
	return !unicode.IsLower(follower) && !abbreviated(text[max(0, at-16):at])
}

func window64(s string) string { return s[:min(len(s), 64)] }

// abbreviated tells whether before, the text up to a full stop, ends in an abbreviation, an initial
// or the number of a list item.
func abbreviated(before string) bool {
	word := before[strings.LastIndexAny(before, " \t\n([\"'")+1:]
	if utf8.RuneCountInString(word) == 1 {
		r, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(r) || unicode.IsDigit(r)
	}
	return abbreviations[strings.ToLower(word)]
}

// afterAny returns the first place at or after at whose character is none of set.
func afterAny(text string, at int, set string) int {
	for at < len(text) {
		r, n := utf8.DecodeRuneInString(text[at:])
		if !strings.ContainsRune(set, r) {
			break
		}
		at += n
	}
	return at
}

// afterBlank returns the first place at or after at that is not white space.
func afterBlank(text string, at int) int {
	return len(text) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
}

// softBorder returns the best place to end a piece of a sentence no later than the end of text: after
// a line, else a clause, else a word, in its second half; its end if there is none.
func softBorder(text string) int {
	half := text[len(text)/2:]
	for _, set := range [...]string{"\n", clauses, " \t\v\f\u3000"} {
		if at := strings.LastIndexAny(half, set); at >= 0 && !isBlank(half[at:]) || at > 0 && set != clauses {
			_, n := utf8.DecodeRuneInString(half[at:])
			if cut := len(text)/2 + at + n; !isBlank(text[:cut]) {
				return cut
			}
		}
	}
	return len(text)
}
