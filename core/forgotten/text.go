package forgotten

import (
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/internal/text/lazy"
)

// telling is how many letters a text has at least that is known by itself. Shorter ones, such as
// "yes, please commit" or a heading, are said in many places.
const telling = 32

// isTelling reports whether a normal form is known by itself. A letter of a script that writes
// words without spaces counts as three.
func isTelling(key string) bool {
	n := 0
	for _, r := range key {
		if n++; r >= 0x2e80 {
			n += 2
		}
		if n >= telling {
			return true
		}
	}
	return false
}

// normal returns what of a text is compared: its letters, digits and marks in lower case and one
// form of Unicode. Spaces, the ends of lines, quotes, the numbers and boxes of items and other
// signs change when a text is copied, quoted, wrapped or reformatted, and so do entities, breaks of
// HTML and what is not seen. A text without letters is compared as it is.
func normal(text string) string {
	if strings.Contains(text, "&") {
		text = html.UnescapeString(text)
	}
	if strings.Contains(text, "<") {
		text = breaks().ReplaceAllString(text, "")
	}
	key := make([]byte, 0, len(text))
	for line := range strings.SplitSeq(text, "\n") {
		line = withoutMark(line)
		for i := range len(line) {
			c := line[i]
			switch {
			case c >= utf8.RuneSelf:
				return normalUnicode(text)
			case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
				key = append(key, c)
			case 'A' <= c && c <= 'Z':
				key = append(key, c+'a'-'A')
			}
		}
	}
	if len(key) == 0 {
		return strings.Join(strings.Fields(text), "")
	}
	return string(key)
}

var breaks = lazy.Regexp(`(?i)<(?:w?br|/?p)[ \t]*/?>`)

// marks are the number of an item or heading, the box of a task and the mark of a footnote.
var marks = lazy.Regexp(`^(?:[0-9]{1,9}[.)][ \t]+)?(?:\[[ xX]\][ \t]+|\[\^[^\]]*\]:)?`)

// withoutMark returns a line without what begins it and changes with its place.
func withoutMark(line string) string {
	line = strings.TrimLeft(line, " \t>#*+-")
	if line == "" || line[0] != '[' && (line[0] < '0' || line[0] > '9') {
		return line
	}
	return line[len(marks().FindString(line)):]
}

func normalUnicode(text string) string {
	var key strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		onLetter := false // a mark elsewhere changes no letter
		for _, r := range norm.NFKC.String(strings.Map(seen, withoutMark(line))) {
			onLetter = unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) && onLetter
			if onLetter {
				key.WriteRune(unicode.ToLower(r))
			}
		}
	}
	if key.Len() == 0 {
		return strings.Join(strings.Fields(text), "")
	}
	return key.String()
}

// seen leaves out the characters that Unicode calls ignorable: joiners, variation selectors, soft
// hyphens and such. They would also keep a letter and its mark apart.
func seen(r rune) rune {
	if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
		return -1
	}
	return r
}

// A Passage is what is forgotten as a whole: a turn of a conversation, or a paragraph, a list item,
// a heading or a row of a table in a document.
type Passage struct {
	First, Last int    // lines in the document, from 1
	Text        string // without secrets
	key         string // normal form; "" if nothing is said
	parts       []span // paragraphs of a turn
	aside       bool   // a turn that only calls tools: no neighbour of what is said
	// at is the line of a turn, since a log only grows. Paragraphs move, so that of those that say
	// the same it is which one this is.
	at int
}

// A span is a paragraph: lines of a text, from 0, last included.
type span struct {
	first, last int
	key         string
}

// Passages are those of a document, in order.
type Passages []Passage

// OfTurns returns the turns of a conversation. redact takes secrets out.
func OfTurns(turns []chunker.Turn, redact func(string) string) Passages {
	all := make(Passages, len(turns))
	for i, t := range turns {
		p := Passage{First: t.Line, Last: t.EndLine, at: t.Line, Text: redact(t.Text)}
		p.parts = paragraphs(p.Text)
		var key strings.Builder
		for _, part := range p.parts {
			key.WriteString(part.key)
		}
		if p.key = key.String(); p.key == "" {
			p.key = normal(p.Text) // of signs alone
		}
		if p.key == "" && len(t.Tools) > 0 {
			p.aside, p.Text = true, toolText(t.Tools, redact)
			p.key = normal(p.Text)
		}
		all[i] = p
	}
	return all
}

// toolText is what calls of tools say, as a kept log has them.
func toolText(uses []chunker.ToolUse, redact func(string) string) string {
	var text strings.Builder
	for _, use := range uses {
		use = digest.Reduced(use, redact)
		text.WriteString(use.Name + "\n" + use.Input + "\n" + use.Output + "\n")
	}
	return text.String()
}

// OfMarkdown returns the paragraphs of a document.
func OfMarkdown(text string) Passages {
	parts := paragraphs(text)
	lines := strings.Split(text, "\n")
	all := make(Passages, len(parts))
	said := map[string]int{}
	for i, p := range parts {
		said[p.key]++
		all[i] = Passage{First: p.first + 1, Last: p.last + 1, at: said[p.key], Text: strings.Join(lines[p.first:p.last+1], "\n"), key: p.key}
	}
	return all
}

// paragraphs cuts a text at blank lines, rules, fences, headings, items of lists and rows of
// tables, so that one is the same below a line that is inserted, and in another order.
func paragraphs(text string) (all []span) {
	var lines []string // of the paragraph
	end := func(line int) {
		if key := normal(strings.Join(lines, "\n")); key != "" {
			all = append(all, span{line - len(lines), line - 1, key})
		}
		lines = lines[:0]
	}
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		switch bare := strings.TrimLeft(line, " \t>"); {
		case isBorder(bare):
			end(n)
		case begins(bare) && len(lines) > 0:
			end(n)
			lines = append(lines, line)
		default:
			lines = append(lines, line)
		}
		n++
		if strings.HasPrefix(strings.TrimLeft(line, " \t>"), "#") {
			end(n)
		}
	}
	end(n)
	return all
}

// isBorder reports whether a line is blank, a rule, the line below a heading, or one of a fence.
func isBorder(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Trim(line, "-=_*+|:") == "" || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

// begins reports whether a line begins a heading, an item or a row.
func begins(line string) bool {
	if line = strings.TrimLeft(line, "0123456789"); line == "" {
		return false
	}
	switch line[0] {
	case '#', '|':
		return true
	case '[':
		return strings.HasPrefix(line, "[^")
	case '-', '*', '+', '.', ')':
		return len(line) > 1 && (line[1] == ' ' || line[1] == '\t')
	}
	return strings.HasPrefix(line, "• ")
}

// A name is what the list has of a passage: a normal form, and how it is known.
type name struct{ how, key string }

// How a passage is known.
const (
	itself = ""       // by what it says
	behind = "behind" // with what stands before it
	before = "before" // with what stands behind it
	alone  = "alone"  // with all else that its document says
	here   = "here"   // at its place in its document
)

// names returns how a passage is known; none if it says nothing. A text that is too short to tell
// is known with as much of what stands before it as makes it telling, and likewise with what stands
// behind it: either is enough to find it again in a copy, and neither is there where the same is
// said elsewhere. At the beginning and end of a document there is one of them only. Where the whole
// document is shorter than that, it is known by all of it. In its own document it is known by its
// place, too, so that it stays hidden there when something is added on either side.
func (all Passages) names(i int) []name {
	p := all[i]
	if p.key == "" {
		return nil
	}
	if isTelling(p.key) {
		return []name{{itself, p.key}}
	}
	var found []name
	whole := p.key
	for _, side := range []struct {
		how  string
		step int
	}{{behind, -1}, {before, 1}} {
		joined := p.key
		for j := i + side.step; j >= 0 && j < len(all) && !isTelling(joined); j += side.step {
			switch key := all[j].key; {
			case key == "" || all[j].aside:
			case side.step < 0:
				joined, whole = key+"\n"+joined, key+"\n"+whole
			default:
				joined, whole = joined+"\n"+key, whole+"\n"+key
			}
		}
		if isTelling(joined) {
			found = append(found, name{side.how, joined})
		}
	}
	if found == nil {
		found = []name{{alone, whole}}
	}
	return append(found, name{here, strconv.Itoa(p.at) + "\n" + p.key})
}

// namesOf returns the names of some passages, and of the telling paragraphs of those that are
// turns.
func (all Passages) namesOf(some []int) (names []name) {
	for _, i := range some {
		names = append(names, all.names(i)...)
		for _, part := range all[i].parts {
			if len(all[i].parts) > 1 && isTelling(part.key) {
				names = append(names, name{itself, part.key})
			}
		}
	}
	return names
}

// In returns which passages have a line from first to last.
func (all Passages) In(first, last int) (some []int) {
	for i, p := range all {
		if p.key != "" && p.First <= last && p.Last >= first {
			some = append(some, i)
		}
	}
	return some
}

// Nearest returns those of some passages that have the most lines of a text: a log may be one line.
func (all Passages) Nearest(some []int, text string) (nearest []int) {
	most := 0
	for _, i := range some {
		n := 0
		for line := range strings.SplitSeq(text, "\n") {
			if key := normal(line); key != "" && strings.Contains(all[i].key, key) {
				n++
			}
		}
		switch {
		case n > most:
			most, nearest = n, []int{i}
		case n == most:
			nearest = append(nearest, i)
		}
	}
	return slices.Clip(nearest)
}
