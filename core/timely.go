package core

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/when"
	"github.com/memcore/memcore/store"
)

// askedTimes is what a question says of time. The zero value is that it says nothing.
type askedTimes struct {
	spans []when.Span // all of them have begun
	only  bool        // the question asks for nothing but what was then
	now   time.Time
}

// mostSpans is how many spans a question names at most. A text with more is not a question about a
// time, but a log.
const mostSpans = 4

func timesAsked(text string, now time.Time) askedTimes {
	spans := when.Parse(text, now)
	if len(spans) == 0 || len(spans) > mostSpans {
		return askedTimes{}
	}
	only := when.Only(text, spans, now)
	begun := slices.DeleteFunc(spans, func(s when.Span) bool { return s.From.After(now) })
	return askedTimes{spans: begun, only: only, now: now}
}

// modified is how much the time of a file says: somebody has touched it then, which need not be
// when it was written.
const modified = 0.5

// timeOf returns when a record is of, and how sure that is, in [0, 1]. A file is as old as the date
// in its name, or in its outermost heading that has one.
func (a askedTimes) timeOf(r store.Record) (at time.Time, sure float64) {
	if r.Kind == source.KindConversation {
		return r.Time, 1
	}
	for _, name := range append([]string{path.Base(r.Path)}, r.Headings...) {
		if day, ok := dateIn(name, a.now.Location()); ok {
			return day.Add(12 * time.Hour), 1
		}
	}
	return r.Time, modified
}

// timely reports, in [0, 1], how well a record fits the spans asked for: 1 is inside. Without a
// span, or a time of the record, it is 0.
func (a askedTimes) timely(r store.Record) float64 {
	if len(a.spans) == 0 {
		return 0
	}
	at, sure := a.timeOf(r)
	return sure * a.fit(at)
}

// fit is that of a moment: it falls off over about the span's own length, at least half a day.
func (a askedTimes) fit(t time.Time) (best float64) {
	if t.IsZero() {
		return 0
	}
	for _, s := range a.spans {
		if s.Contains(t) {
			return 1
		}
		length := 7 * 24 * time.Hour // of a span without a beginning
		if !s.From.IsZero() {
			length = max(s.To.Sub(s.From), 12*time.Hour)
		}
		beyond := max(s.From.Sub(t), t.Sub(s.To)).Hours() / length.Hours()
		best = max(best, math.Exp(-beyond*beyond))
	}
	return best
}

// dateIn returns the first date in a name, such as 2026-11-17 in "2026-11-17 standup.md".
func dateIn(name string, in *time.Location) (time.Time, bool) {
	for at := range name {
		if end := at + len(time.DateOnly); end <= len(name) && name[at] >= '0' && name[at] <= '9' {
			if day, err := time.ParseInLocation(time.DateOnly, name[at:end], in); err == nil {
				return day, true
			}
		}
	}
	return time.Time{}, false
}

// gatherTimely returns records of the spans asked for that known does not hold: what a question
// about a time is after need not be among the best of all times.
func (m *Manager) gatherTimely(ctx context.Context, from snapshot, text string, vector []float32, a askedTimes, s selection, known []candidate) ([]candidate, error) {
	seen := map[string]bool{}
	for _, c := range known {
		seen[c.record.ID] = true
	}
	var added []candidate
	take := func(hits []store.Hit) {
		for _, c := range merge(from.manifest, hits, nil) {
			if !seen[c.record.ID] {
				seen[c.record.ID] = true
				added = append(added, candidate{record: c.record})
			}
		}
	}
	var errs []error
	for _, span := range a.spans {
		f := within(s.filter, span)
		matches, err := from.keywords.Match(ctx, text, s.candidates, f)
		take(matches.Hits)
		errs = append(errs, err)
		if vector != nil {
			near, err := from.vectors.Nearest(ctx, vector, s.candidates, f)
			take(near)
			errs = append(errs, err)
		}
		if a.only { // no word may match: the year finds turns, since they are indexed with their date
			matches, err := from.keywords.Match(ctx, yearsOf(span), s.candidates, f)
			take(matches.Hits)
			errs = append(errs, err)
		}
	}
	return added, errors.Join(errs...)
}

// within narrows a filter to a span.
func within(f store.Filter, span when.Span) store.Filter {
	if span.From.After(f.Since) {
		f.Since = span.From
	}
	if f.Until.IsZero() || span.To.Before(f.Until) {
		f.Until = span.To
	}
	return f
}

// yearsOf names the years of a span, ten at most.
func yearsOf(span when.Span) string {
	last := span.To.Add(-time.Second).UTC().Year()
	first := max(span.From.UTC().Year(), last-9)
	var years []string
	for year := first; year <= last; year++ {
		years = append(years, strconv.Itoa(year))
	}
	return strings.Join(years, " ")
}

// byTime is the score of what is of the time asked for, if the question names nothing else: neither
// words nor vectors can tell how good it is, and asking is reason enough.
const byTime = 0.5

// admitTimely lets what is of the time asked for pass, if that is all the question asks for. Among
// it, the order stays.
func admitTimely(ranked []scored, a askedTimes) {
	if !a.only {
		return
	}
	for i := range ranked {
		at, sure := a.timeOf(ranked[i].record)
		if !at.IsZero() && slices.ContainsFunc(a.spans, func(s when.Span) bool { return s.Contains(at) }) {
			if ranked[i].Score < byTime*sure {
				ranked[i].Score, ranked[i].byTime = byTime*sure, true
			}
		}
	}
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(b.Score, a.Score) })
}
