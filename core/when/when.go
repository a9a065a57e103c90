// Package when reads the date or time span that a text names: "last week", "on 7 May 2023", "vor
// drei Tagen", "el martes pasado", "上周", "先月".
//
// It knows English, German, Spanish, French, Chinese and Japanese. One table (words.go) turns words
// into tokens, one grammar (grammar.go) reads them. Words that only look like dates are ignored:
// "you may", "every Monday". Use a span to prefer something, never to hide the rest.
package when

import "time"

// A Span is the time [From, To).
type Span struct {
	From time.Time // zero if the text names an end only ("before March")
	To   time.Time // later than From
	// Start and End are the span's bytes in the text.
	Start, End int
}

// maxText is in bytes. Questions are short; more is mostly pasted.
const maxText = 1 << 12

// Parse returns a text's spans, in order, relative to now and its location. Weeks begin on Monday.
// A day or month without a year is the last that has begun, a weekday the last before today. An
// ambiguous date (05/07/2023) gives both.
func Parse(text string, now time.Time) []Span {
	if len(text) > maxText {
		text = text[:maxText]
	}
	tokens := lex(text)
	p := parser{tokens: tokens, calendar: calendar{now}}
	var spans []Span
	for at := 0; at < len(tokens); {
		found, end := p.expression(at)
		if end == at {
			at++
			continue
		}
		for _, s := range found {
			s.Start, s.End = tokens[at].start, tokens[end-1].end
			if s.To.After(s.From) {
				spans = append(spans, s)
			}
		}
		at = end
	}
	return spans
}

// Contains reports whether t is in the span.
func (s Span) Contains(t time.Time) bool { return !t.Before(s.From) && t.Before(s.To) }
