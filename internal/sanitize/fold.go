package sanitize

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A folded text is a text as it looks: one byte a character, lower case, look-alikes of ASCII
// characters replaced by them, what looks like none of them by a letter-like filler. A ligature is
// the letters it is made of.
type folded struct {
	text    string
	offsets []int // byte offset in the original of each byte's character, and the original's length at the end
}

// filler is no blank, no punctuation, and part of no pattern.
const filler = '\x7f'

func fold(text string) folded {
	f := folded{offsets: make([]int, 0, len(text)+1)}
	flat := make([]byte, 0, len(text))
	for i, r := range text {
		if i > 0 && r >= utf8.RuneSelf && (isJoiner(r) || unicode.In(r, unicode.Mn, unicode.Me)) {
			continue // it belongs to the character before
		}
		flat = foldRune(flat, r)
		for len(f.offsets) < len(flat) {
			f.offsets = append(f.offsets, i)
		}
	}
	f.offsets = append(f.offsets, len(text))
	f.text = string(flat)
	return f
}

// foldRune appends a character as it looks.
func foldRune(flat []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(flat, lower(r))
	}
	if ascii, ok := lookAlikes[unicode.ToLower(r)]; ok {
		return append(flat, ascii)
	}
	if unicode.IsSpace(r) {
		return append(flat, ' ')
	}
	// Full-width, mathematical, circled letters and the like; accents fall off.
	compatible := norm.NFKD.String(string(r))
	first, size := utf8.DecodeRuneInString(compatible)
	switch {
	case first >= utf8.RuneSelf:
		return append(flat, filler)
	case size == len(compatible):
		return append(flat, lower(first))
	case isWord(compatible): // "st" and other letters in one
		for i := range len(compatible) {
			flat = append(flat, lower(rune(compatible[i])))
		}
		return flat
	case unicode.IsLetter(r):
		return append(flat, lower(first))
	}
	return append(flat, filler)
}

// lower is an ASCII character in lower case.
func lower(r rune) byte {
	if r >= 'A' && r <= 'Z' {
		r += 'a' - 'A'
	}
	return byte(r)
}

// isWord tells a text of ASCII letters and digits.
func isWord(text string) bool {
	for i := range len(text) {
		if c := lower(rune(text[i])); (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// lookAlikes are characters of other scripts that look like ASCII ones.
var lookAlikes = map[rune]byte{
	'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'і': 'i', 'ј': 'j', 'ѕ': 's', 'һ': 'h', 'ԁ': 'd',
	'м': 'm', 'т': 't', 'н': 'h', 'в': 'b', 'к': 'k', 'ӏ': 'l', 'ѵ': 'v', 'ԛ': 'q', 'ԝ': 'w', 'г': 'r',
	'α': 'a', 'ο': 'o', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x', 'μ': 'm', 'ѐ': 'e',
	'ı': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ʏ': 'y', 'ᴍ': 'm', 'ᴇ': 'e', 'ᴏ': 'o', 'ʀ': 'r', 'ꜱ': 's', 'ᴛ': 't', 'ɪ': 'i', 'ɴ': 'n',
	'ү': 'y', 'ԍ': 'g', 'օ': 'o', 'ո': 'n', 'ս': 'u', 'հ': 'h', 'տ': 's', 'զ': 'q', 'ց': 'g', 'ʟ': 'l', 'ᴀ': 'a', 'ᴄ': 'c', 'ᴅ': 'd', 'ᴘ': 'p', 'ᴜ': 'u', 'ɢ': 'g', 'ʜ': 'h',
	'ᐸ': '<', '❬': '<', '⧼': '<', 'ᐳ': '>', '❭': '>', '⧽': '>',
	'‹': '<', '˂': '<', '\u2329': '<', '\u3008': '<', '❮': '<', '⟨': '<',
	'›': '>', '˃': '>', '\u232a': '>', '\u3009': '>', '❯': '>', '⟩': '>',
	'∕': '/', '⁄': '/', '⧸': '/', '╱': '/', '｜': '|', '∣': '|', '│': '|', 'ǀ': '|', '▁': '_',
	'ː': ':', '꞉': ':', '∶': ':', '׃': ':', '“': '"', '”': '"',
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
