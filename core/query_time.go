package core

import (
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

type askedTimes struct {
	spans []when.Span // all of them have begun
	only  bool        // the question asks for nothing but what was then
	now   time.Time
	// modified weighs a file's modification time, in [0, 1].
	modified float64
}

// A text with more than mostSpans spans is a log.
const mostSpans = 4

func timesAsked(text string, now time.Time) askedTimes {
	spans := when.Parse(text, now)
	if len(spans) == 0 || len(spans) > mostSpans {
		return askedTimes{}
	}
	only := when.Only(text, spans, now)
	begun := slices.DeleteFunc(spans, func(s when.Span) bool { return s.From.After(now) })
	return askedTimes{spans: begun, only: only, now: now, modified: modified}
}

const (
	// modified weighs a file's modification time: its text may be older.
	modified = 0.5
	// If more files than manyModified, and most of all, are of a span, as in a fresh checkout,
	// their times say nothing.
	manyModified = 8
)

// weighModified ignores modification times if they tell no file from the others.
func (a *askedTimes) weighModified(m *manifest) {
	files, then := 0, 0
	for _, e := range m.Documents {
		if e.Kind == source.KindConversation {
			continue
		}
		files++
		if at := e.ModTime; slices.ContainsFunc(a.spans, func(s when.Span) bool { return s.Contains(at) }) {
			then++
		}
	}
	if then > manyModified && 2*then > files {
		a.modified = 0
	}
}

// timeOf also returns its certainty, in [0, 1]: for a file it is the date in name or headings, else
// its modification.
func (a askedTimes) timeOf(r store.Record) (at time.Time, sure float64) {
	if r.Kind == source.KindConversation || r.Kind == KindStatement {
		return r.Time, 1
	}
	for _, name := range append([]string{path.Base(r.Path)}, r.Headings...) {
		if day, ok := dateIn(name, a.now.Location()); ok {
			return day.Add(12 * time.Hour), 1
		}
	}
	return r.Time, a.modified
}

// timely is how well a record fits, in [0, 1].
func (a askedTimes) timely(r store.Record) float64 {
	if len(a.spans) == 0 {
		return 0
	}
	at, sure := a.timeOf(r)
	return sure * a.fit(at)
}

// fit falls off beside a span over its length or half a day.
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

// dateIn finds 2026-11-17 in "2026-11-17 standup.md".
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

// addTimely adds records of the spans, which other times may outrank.
func (q *query) addTimely(ctx context.Context, vector []float32, g *gathered) error {
	known := map[string]bool{}
	for _, c := range g.candidates {
		known[c.ID] = true
	}
	var errs []error
	add := func(hits []store.Hit, err error) {
		errs = append(errs, err)
		for _, c := range merge(q.index.manifest, hits, nil) {
			if !known[c.ID] {
				known[c.ID] = true
				g.candidates = append(g.candidates, candidateOf(c.record)) // its scores are of the span alone
			}
		}
	}
	for _, span := range g.times.spans {
		f := within(q.filter, span)
		matches, err := q.index.keywords.Match(ctx, g.question.Text, q.candidates, f)
		add(matches.Hits, err)
		if vector != nil {
			add(q.index.vectors.Nearest(ctx, vector, q.candidates, f))
		}
		if g.times.only { // no other word need match: turns are indexed with their date, so the year finds them
			matches, err := q.index.keywords.Match(ctx, yearsOf(span), q.candidates, f)
			add(matches.Hits, err)
		}
	}
	return errors.Join(errs...)
}

func within(f store.Filter, span when.Span) store.Filter {
	if span.From.After(f.Since) {
		f.Since = span.From
	}
	if f.Until.IsZero() || span.To.Before(f.Until) {
		f.Until = span.To
	}
	return f
}

// yearsOf names a span's years, ten at most.
func yearsOf(span when.Span) string {
	last := span.To.Add(-time.Second).UTC().Year()
	first := max(span.From.UTC().Year(), last-9)
	var years []string
	for year := first; year <= last; year++ {
		years = append(years, strconv.Itoa(year))
	}
	return strings.Join(years, " ")
}

// byTime is the least score if a question asks only for a time: words and vectors cannot score
// then.
const byTime = 0.5

// admitTimely raises such candidates to byTime. Their order stays.
func admitTimely(ranked []*candidate, a askedTimes) {
	if !a.only {
		return
	}
	for _, c := range ranked {
		at, sure := a.timeOf(c.record)
		if !at.IsZero() && slices.ContainsFunc(a.spans, func(s when.Span) bool { return s.Contains(at) }) && c.Score < byTime*sure {
			c.Score, c.byTime = byTime*sure, true
		}
	}
	sortByScore(ranked)
}
