// Package when reads the date or the span of time that a text names: "last week", "on 7 May 2023",
// "vor drei Tagen", "el martes pasado", "上周", "先月".
//
// It knows the usual forms of English, German, Spanish, French, Chinese and Japanese, all at once:
// a text need not say its language. Words become tokens by one table (words.go), and one grammar
// for all languages (grammar.go) reads them. A word that only looks like a date ("you may", "march
// forward", "version 2023.1", "every Monday") does not count. What is found is evidence, not proof:
// use it to prefer something, never to hide the rest.
package when

import "time"

// A Span is a time from From up to To, which is not part of it.
type Span struct {
	From time.Time // zero if the text names an end only ("before March")
	To   time.Time // later than From
	// Start and End are the bytes of the text that name the span.
	Start, End int
}

// maxText is how much of a text Parse reads, in bytes: a question names its time in its first words
// or its last, and what is longer is mostly pasted.
const maxText = 1 << 12

// Parse returns the spans that a text names, in the order of the text. What is relative counts from
// now, and days begin at midnight in its location; weeks begin on Monday. A day or month without
// its year is the last one that has begun, a weekday the last one before today. A date that can be
// read in two ways (05/07/2023) gives both. Parse does not fail: a text without a date has no
// spans.
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
