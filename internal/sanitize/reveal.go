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
		case isBareControl(r):
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

// Hidden returns where in a text that stands which Reveal takes out: ranges of bytes, in order. A line break is none of it, of whatever
// kind.
func Hidden(text string) [][2]int {
	if isPlain(text) {
		return nil
	}
	var sequences [][]int
	if strings.ContainsRune(text, '\x1b') {
		sequences = escapeSequence().FindAllStringIndex(text, -1)
	}
	var hidden [][2]int
	before := rune(0)
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		start := i
		i += size
		switch {
		case len(sequences) > 0 && start == sequences[0][0]:
			i, sequences = sequences[0][1], sequences[1:]
		case isPlainRune(r) || !isHidden(r, before) && (!isBareControl(r) || isBreak(r)):
			before = r
			continue
		}
		if last := len(hidden) - 1; last >= 0 && hidden[last][1] == start {
			hidden[last][1] = i
		} else {
			hidden = append(hidden, [2]int{start, i})
		}
	}
	return hidden
}

// isBareControl tells a control character that is neither a line's end nor a tab.
func isBareControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// isBreak tells the characters of breaks.
func isBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
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
		if !isPlainRune(rune(text[i])) {
			return false
		}
	}
	return true
}

func isPlainRune(r rune) bool { return r >= ' ' && r < 0x7f || r == '\n' || r == '\t' }

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
