// Package payload finds what a text carries but nobody reads: data URIs, runs of base64 and hex,
// keys in armour, minified code, drawings as JSON, long tables of numbers, commands of a template.
//
// It judges by shape alone: length, alphabet, how often the kind of character changes. Text of any
// language stays, also without spaces, as do code, hashes, URLs and long identifiers.
package payload

import (
	"cmp"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
)

// Mark stands for a payload in the text that is left.
const Mark = "…"

// A Span is the bytes [Start, End) of a text. It may hold line breaks, but begins and ends within a
// line.
type Span struct{ Start, End int }

// Find returns the payloads of a text, in order and apart. Its time is linear in the text.
func Find(text string) []Span {
	var f finder
	f.inTemplate(text)
	if len(text) < minURI {
		return f.sorted()
	}
	var b base64Lines
	var a armour
	var n numberRows
	var d drawing
	for at := 0; at < len(text); {
		end := at + len(text[at:])
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i
		}
		line := text[at:end]
		b.line(&f, line, at)
		a.line(&f, line, at)
		n.line(&f, line, at)
		d.line(&f, line, at)
		if len(line) >= minURI {
			f.inLine(line, at)
		}
		at = end + 1
	}
	b.end(&f)
	n.end(&f)
	return f.sorted()
}

// command matches what Templater, of Obsidian, runs when a note is made of a template.
var command = lazy.Regexp(`(?s)<%(?:[-_]?\*|[-_+~]?\s*(?:await\s+)?tp\.).*?%>`)

func (f *finder) inTemplate(text string) {
	if !strings.Contains(text, "<%") {
		return
	}
	for _, at := range command().FindAllStringIndex(text, -1) {
		f.add(at[0], at[1])
	}
}

// Without returns a text with Mark in the place of each payload.
func Without(text string) string {
	var b strings.Builder
	at := 0
	for _, s := range Find(text) {
		b.WriteString(text[at:s.Start])
		b.WriteString(Mark)
		at = s.End
	}
	if at == 0 {
		return text
	}
	b.WriteString(text[at:])
	return b.String()
}

// A finder collects spans, which may overlap.
type finder struct{ spans []Span }

func (f *finder) add(start, end int) {
	if start < end {
		f.spans = append(f.spans, Span{start, end})
	}
}

func (f *finder) sorted() []Span {
	slices.SortFunc(f.spans, func(a, b Span) int { return cmp.Or(a.Start-b.Start, b.End-a.End) })
	apart := f.spans[:0]
	for _, s := range f.spans {
		if n := len(apart) - 1; n >= 0 && s.Start <= apart[n].End {
			apart[n].End = max(apart[n].End, s.End)
		} else {
			apart = append(apart, s)
		}
	}
	return apart
}
