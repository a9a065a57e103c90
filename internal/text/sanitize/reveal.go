package sanitize

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/internal/text/lazy"
)

// escapeSequence matches commands to terminals.
var escapeSequence = lazy.Regexp(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])`)

// Reveal removes invisible text: controls, escape sequences, bidirectional controls, zero-width
// characters and tags. Line breaks become "\n"; bytes that are not UTF-8, perhaps commands to
// terminals, U+FFFD.
func Reveal(text string) (string, []Finding) {
	if isPlain(text) {
		return text, nil
	}
	var b strings.Builder
	var sequences bool
	var hidden, tags, control, done int
	eachHidden(text, func(start, end int, r rune) {
		b.WriteString(text[done:start])
		done = end
		switch {
		case r == sequence:
			sequences = true
		case isBareControl(r):
			control++
		default:
			hidden++
			if r >= 0xE0020 && r <= 0xE007E {
				tags++
			}
		}
	})
	b.WriteString(text[done:])
	var findings []Finding
	if sequences {
		findings = append(findings, Finding{Kind: "control", Detail: "terminal escape sequences"})
	}
	if control > 0 {
		findings = append(findings, Finding{Kind: "control", Detail: fmt.Sprintf("%d control characters", control)})
	}
	if hidden > 0 {
		findings = append(findings, Finding{Kind: "hidden", Detail: hiddenDetail(hidden, tags)})
	}
	valid := strings.Map(func(r rune) rune { return r }, b.String())
	return breaks.Replace(valid), findings
}

// Line makes a foreign name safe within a line that a person reads: it ends neither the line nor a
// column.
func Line(text string) string {
	text, _ = Reveal(text)
	return inLine.Replace(text)
}

var inLine = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// Hidden returns what Reveal removes, in order.
func Hidden(text string) (hidden [][2]int) {
	if isPlain(text) {
		return nil
	}
	eachHidden(text, func(start, end int, _ rune) {
		if last := len(hidden) - 1; last >= 0 && hidden[last][1] == start {
			hidden[last][1] = end
			return
		}
		hidden = append(hidden, [2]int{start, end})
	})
	return hidden
}

// sequence is the "rune" of an escape sequence.
const sequence rune = -1

// eachHidden visits hidden characters and escape sequences, in order.
func eachHidden(text string, visit func(start, end int, r rune)) {
	var sequences [][]int
	if strings.ContainsRune(text, '\x1b') {
		sequences = escapeSequence().FindAllStringIndex(text, -1)
	}
	before := rune(0)
	for i := 0; i < len(text); {
		if len(sequences) > 0 && i == sequences[0][0] {
			visit(i, sequences[0][1], sequence)
			i, sequences = sequences[0][1], sequences[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if isPlainRune(r) || !isHidden(r, before) && (!isBareControl(r) || isBreak(r)) {
			before = r
		} else {
			visit(i, i+size, r)
		}
		i += size
	}
}

func isBareControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// isBreak reports whether r breaks lines.
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

// isHidden reports whether r is invisible and does not shape the previous character.
func isHidden(r, before rune) bool {
	switch {
	case isJoiner(r):
		return !joins(before)
	case r >= 0xE0000 && r <= 0xE0FFF:
		return true
	case unicode.Is(unicode.Variation_Selector, r):
		return !isVariant(before, r)
	}
	// Unicode's Default_Ignorable_Code_Point and Bidi_Control.
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Bidi_Control, r) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// isJoiner reports whether r joins or separates its neighbours.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// joins reports whether a joiner can shape r, as in emoji and some scripts.
func joins(r rune) bool {
	return isPicture(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r) || r == 0xFE0F ||
		unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati,
			unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Mongolian)
}

func isPicture(r rune) bool { return r >= utf8.RuneSelf && unicode.In(r, unicode.So, unicode.Sk) }
