package sanitize

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded has the lower-case ASCII bytes that characters look like, or filler. Marks and format
// characters have none.
type folded struct {
	text    string
	offsets []int // of each byte's character in the original, then the original's length
}

// filler matches no pattern.
const filler = '\x7f'

func fold(text string) folded {
	f := folded{offsets: make([]int, 0, len(text)+1)}
	flat := make([]byte, 0, len(text))
	for i, r := range text {
		flat = foldRune(flat, r)
		for len(f.offsets) < len(flat) {
			f.offsets = append(f.offsets, i)
		}
	}
	f.offsets = append(f.offsets, len(text))
	f.text = string(flat)
	return f
}

// foldRune appends what a character looks like.
func foldRune(flat []byte, r rune) []byte {
	if r < utf8.RuneSelf {
		return append(flat, lower(r))
	}
	if ascii, ok := LookAlike(r); ok {
		return append(flat, ascii)
	}
	switch {
	case unicode.In(r, unicode.M, unicode.Cf):
		return flat
	case unicode.IsSpace(r):
		return append(flat, ' ')
	}
	// Wide, mathematical and circled letters become plain; accents separate.
	before := len(flat)
	for _, part := range norm.NFKD.String(string(r)) {
		if part < utf8.RuneSelf && part != '.' { // an ellipsis ends no sentence
			flat = append(flat, lower(part))
		} else if ascii, ok := LookAlike(part); ok {
			flat = append(flat, ascii)
		}
	}
	if len(flat) == before {
		flat = append(flat, filler)
	}
	return flat
}

func lower(r rune) byte { return byte(unicode.ToLower(r)) }

// LookAlike returns the lower-case ASCII character that r looks like.
func LookAlike(r rune) (byte, bool) {
	if ascii, ok := lookAlikes[r]; ok {
		return ascii, true
	}
	ascii, ok := lookAlikes[unicode.ToLower(r)]
	return ascii, ok
}

var lookAlikes = map[rune]byte{
	// Cyrillic
	'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'у': 'y', 'х': 'x', 'і': 'i', 'ј': 'j',
	'ѕ': 's', 'һ': 'h', 'ԁ': 'd', 'м': 'm', 'т': 't', 'н': 'h', 'в': 'b', 'к': 'k', 'ӏ': 'l',
	'ѵ': 'v', 'ԛ': 'q', 'ԝ': 'w', 'г': 'r', 'ѐ': 'e', 'ү': 'y', 'ԍ': 'g',
	// Greek; some capitals look like other letters than their small forms
	'α': 'a', 'ο': 'o', 'ε': 'e', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ρ': 'p', 'τ': 't', 'υ': 'u',
	'χ': 'x', 'μ': 'm', 'Β': 'b', 'Ζ': 'z', 'Η': 'h', 'Ν': 'n', 'Υ': 'y',
	// Latin
	'ı': 'i', 'ɑ': 'a', 'ɡ': 'g', 'ʏ': 'y', 'ᴍ': 'm', 'ᴇ': 'e', 'ᴏ': 'o', 'ʀ': 'r', 'ꜱ': 's',
	'ᴛ': 't', 'ɪ': 'i', 'ɴ': 'n', 'ʟ': 'l', 'ᴀ': 'a', 'ᴄ': 'c', 'ᴅ': 'd', 'ᴘ': 'p', 'ᴜ': 'u',
	'ɢ': 'g', 'ʜ': 'h',
	// Armenian
	'օ': 'o', 'ո': 'n', 'ս': 'u', 'հ': 'h', 'տ': 's', 'զ': 'q', 'ց': 'g',
	// Marks
	'ᐸ': '<', '❬': '<', '⧼': '<', '‹': '<', '˂': '<', '\u2329': '<', '\u3008': '<', '❮': '<', '⟨': '<',
	'ᐳ': '>', '❭': '>', '⧽': '>', '›': '>', '˃': '>', '\u232a': '>', '\u3009': '>', '❯': '>', '⟩': '>',
	'∕': '/', '⁄': '/', '⧸': '/', '╱': '/', '｜': '|', '∣': '|', '│': '|', 'ǀ': '|', '▁': '_',
	'ː': ':', '꞉': ':', '∶': ':', '׃': ':', '❨': '(', '❪': '(', '❩': ')', '❫': ')',
	'“': '"', '”': '"', '„': '"', '‟': '"', '″': '"', 'ʺ': '"', '‘': '\'', '’': '\'', '‚': '\'',
	'‛': '\'', '′': '\'', 'ʹ': '\'', 'ʼ': '\'', 'ǃ': '!', '‐': '-', '‑': '-', '−': '-',
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
