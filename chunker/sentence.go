package chunker

import (
	"iter"
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

// sentenceEnd excludes white space.
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

// Sentences yields the bytes of each sentence of a paragraph.
func Sentences(text string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for at := afterBlank(text, 0); at < len(text); {
			end := sentenceEnd(text, at)
			if end <= at {
				end = len(text)
			}
			if !yield(at, len(trimEnd(text[:end]))) {
				return
			}
			at = afterBlank(text, end)
		}
	}
}

// hardBreak reports whether a line ends with Markdown's break.
func hardBreak(line string) bool {
	return strings.HasSuffix(line, "  ") || strings.HasSuffix(line, `\`)
}

// endsHere reports whether the mark r ends a sentence.
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

// abbreviated finds an abbreviation, initial or number at the end.
func abbreviated(before string) bool {
	word := before[strings.LastIndexAny(before, " \t\n([\"'")+1:]
	if utf8.RuneCountInString(word) == 1 {
		r, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(r) || unicode.IsDigit(r)
	}
	return abbreviations[strings.ToLower(word)]
}

// afterAny skips characters in set.
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

func afterBlank(text string, at int) int {
	return len(text) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
}

// softBorder cuts the second half after a line, a clause or a word, if it can.
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
