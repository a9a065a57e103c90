package when

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// From returns the beginning of RFC 3339, a date, "7d" (ago), or words.
func From(text string, now time.Time) (time.Time, error) {
	s, err := bound(text, now)
	return s.From, err
}

// To returns the end instead: a date includes its day.
func To(text string, now time.Time) (time.Time, error) {
	s, err := bound(text, now)
	return s.To, err
}

func bound(text string, now time.Time) (Span, error) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return Span{From: t, To: t}, nil
		}
	}
	if strings.EqualFold(text, "now") {
		return Span{From: now, To: now}, nil
	}
	if t, ok := short(text, now); ok {
		return Span{From: t, To: t}, nil
	}
	read := text
	spans := Parse(read, now)
	if len(spans) == 0 { // in a sentence, a month or a year needs a word before it; not here
		read = "in the " + text
		spans = Parse(read, now)
	}
	switch {
	case len(spans) == 0 || !covers(spans, read):
		return Span{}, fmt.Errorf("%q names no time: want RFC 3339, a date such as 2026-11-17, 7d, or words such as \"last week\"", text)
	case len(spans) > 1:
		return Span{}, fmt.Errorf("%q can be read in two ways, %s and %s: write it as 2026-11-17", text,
			spans[0].From.Format(time.DateOnly), spans[1].From.Format(time.DateOnly))
	case spans[0].From.IsZero():
		return Span{}, fmt.Errorf("%q has no beginning", text)
	}
	return spans[0], nil
}

// covers reports whether the rest is words such as "on the".
func covers(spans []Span, text string) bool {
	for _, t := range lex(text) {
		inside := false
		for _, s := range spans {
			inside = inside || t.start >= s.Start && t.end <= s.End
		}
		if !inside && t.kind != filler && t.kind != preposition {
			return false
		}
	}
	return true
}

// Ago returns the time of an age such as 7d, 36h or 1y. An age of 0 is none.
func Ago(text string, now time.Time) (time.Time, bool) {
	t, ok := short(strings.TrimSpace(text), now)
	return t, ok && t.Before(now)
}

// short reads 7d, 2w, 36h, 3mo, 1y: that long before now.
func short(text string, now time.Time) (time.Time, bool) {
	digits := strings.TrimRight(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz")
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil || n < 0 || n > 100_000 {
		return time.Time{}, false
	}
	switch strings.ToLower(text[len(digits):]) {
	case "m", "min":
		return now.Add(-time.Duration(n) * time.Minute), true
	case "h":
		return now.Add(-time.Duration(n) * time.Hour), true
	case "d":
		return now.AddDate(0, 0, -n), true
	case "w":
		return now.AddDate(0, 0, -7*n), true
	case "mo":
		return now.AddDate(0, -n, 0), true
	case "y":
		return now.AddDate(-n, 0, 0), true
	}
	return time.Time{}, false
}
