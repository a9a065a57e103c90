package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escapeSequence is what a terminal would act on.
var escapeSequence = compiled(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])`)

// Reveal removes what a person reading the text would not see: control characters, escape sequences,
// bidirectional controls, zero-width characters, tags and other invisible carriers. Line breaks of
// all kinds become "\n". What is left is what a person sees, byte for byte.
func Reveal(text string) (string, []Finding) {
	if isPlain(text) {
		return text, nil
	}
	var findings []Finding
	if strings.ContainsRune(text, '\x1b') {
		if shown := escapeSequence().ReplaceAllString(text, ""); shown != text {
			text = shown
			findings = append(findings, Finding{Kind: "control", Detail: "terminal escape sequences"})
		}
	}
	text = breaks.Replace(text)
	var b strings.Builder
	var smuggled strings.Builder
	hidden, control := 0, 0
	before := rune(0)
	for _, r := range text {
		switch {
		case r >= 0xE0020 && r <= 0xE007E:
			smuggled.WriteRune(r - 0xE0000)
			hidden++
		case isHidden(r, before):
			hidden++
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			control++
		default:
			b.WriteRune(r)
			before = r
		}
	}
	if control > 0 {
		findings = append(findings, Finding{Kind: "control", Detail: fmt.Sprintf("%d control characters", control)})
	}
	if hidden > 0 {
		findings = append(findings, Finding{Kind: "hidden", Detail: hiddenDetail(hidden, smuggled.Len())})
	}
	return b.String(), findings
}

func hiddenDetail(hidden, smuggled int) string {
	text := fmt.Sprintf("%d invisible characters", hidden)
	if hidden == 1 {
		text = "1 invisible character"
	}
	if smuggled > 0 {
		text += fmt.Sprintf(", among them %d that spell a text", smuggled)
	}
	return text
}

var breaks = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n", "\v", "\n", "\f", "\n")

func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// isHidden tells a character that nobody sees from one that shapes its neighbours.
func isHidden(r, before rune) bool {
	switch {
	case isJoiner(r): // needed in emoji and in some scripts
		return !joins(before)
	case r >= 0xFE00 && r <= 0xFE0F: // variation selectors: one behind a symbol is an emoji's
		symbol := before >= utf8.RuneSelf && unicode.IsSymbol(before)
		return !symbol && !unicode.Is(unicode.Han, before) && !strings.ContainsRune("#*0123456789ℹ‼⁉〰", before)
	case unicode.Is(unicode.Variation_Selector, r): // those of Mongolian shape its letters
		return !unicode.Is(unicode.Mongolian, before)
	case r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	// The Default_Ignorable_Code_Point and Bidi_Control of Unicode, put together of what they are derived from.
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Bidi_Control, r) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// isJoiner tells the characters that join or part their neighbours.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joins tells a character that a joiner can shape.
func joins(r rune) bool {
	return isPicture(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r) || r == 0xFE0F ||
		unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
			unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Mongolian)
}

func isPicture(r rune) bool { return r >= utf8.RuneSelf && unicode.In(r, unicode.So, unicode.Sk) }
