package keyword

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folding unifies compatibility forms and apostrophes, and drops accents on Latin and Greek, Arabic
// vowel signs and invisible characters. It keeps other accents (й is not и) and case, which splits
// getCacheStats. It is idempotent.
type folding struct{}

func (folding) Filter(text []byte) []byte {
	if isASCII(text) {
		return text
	}
	folded := make([]byte, 0, len(text))
	var base rune // the letter that marks belong to
	// Invalid UTF-8 would stop the normaliser.
	for text := norm.NFKD.Bytes(bytes.ToValidUTF8(text, []byte("\uFFFD"))); len(text) > 0; {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		if invisible(r) {
			continue
		}
		if !unicode.Is(unicode.Mn, r) {
			base = r
		} else if dropsMark(base, r) {
			continue
		}
		folded = appendFolded(folded, r)
	}
	return norm.NFC.Bytes(folded)
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// invisible reports soft hyphens, joiners, direction marks, tags, variation selectors and the
// Arabic stretching line.
func invisible(r rune) bool {
	return r == 0x0640 || r == 0x034F || r >= 0xFE00 && r <= 0xFE0F || r > 0x7F && unicode.Is(unicode.Cf, r)
}

func dropsMark(base, mark rune) bool {
	switch {
	case unicode.In(base, unicode.Latin, unicode.Greek):
		return true
	case base == 'е' || base == 'Е': // ё is usually written е
		return mark == 0x0308
	}
	return mark >= 0x064B && mark <= 0x0652 || mark == 0x0670 // Arabic vowel signs
}

func appendFolded(text []byte, r rune) []byte {
	switch r {
	case 'ß', 'ẞ':
		return append(text, "ss"...)
	case 'æ', 'Æ':
		return append(text, "ae"...)
	case 'œ', 'Œ':
		return append(text, "oe"...)
	case 'ø', 'Ø':
		return append(text, 'o')
	case 'đ', 'Đ', 'ð', 'Ð':
		return append(text, 'd')
	case 'ł', 'Ł':
		return append(text, 'l')
	case 'ı':
		return append(text, 'i')
	case 'ς':
		return utf8.AppendRune(text, 'σ')
	case '’', '‘', 'ʼ', '‛':
		return append(text, '\'')
	case '‐', '‑':
		return append(text, '-')
	}
	return utf8.AppendRune(text, r)
}
