package core

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/when"
	"github.com/memcore/memcore/store"
)

type askedTimes struct {
	spans []when.Span // all of them have begun
	only  bool        // the question asks for nothing but what was then
	now   time.Time
	// modified weighs a file's modification time, in [0, 1].
	modified  float64
	documents manifest
	// words are those of the question that name the spans: bit i is Query.Words[i].
	words uint64
}

// A text with more than maxSpans spans is a log.
const maxSpans = 4

func timesAsked(text string, now time.Time) askedTimes {
	spans := when.Parse(text, now)
	if len(spans) == 0 || len(spans) > maxSpans {
		return askedTimes{}
	}
	only := when.Only(text, spans, now)
	begun := slices.DeleteFunc(spans, func(s when.Span) bool { return s.From.After(now) })
	return askedTimes{spans: begun, only: only, now: now, modified: modified}
}

const (
	// modified weighs the time of a file's modification or last commit: its text may be older.
	modified = 0.5
	// If more files than manyModified, and most of all, are of a span, as in a fresh checkout or
	// after the first commit, their times say nothing.
	manyModified = 8
)

// readDocuments takes the documents of a memory. Times of modification are ignored if they tell no
// file from the others.
func (a *askedTimes) readDocuments(m *manifest) {
	a.documents = *m
	files, then := m.countFiles(func(at time.Time) bool {
		return slices.ContainsFunc(a.spans, func(s when.Span) bool { return s.Contains(at) })
	})
	if then > manyModified && 2*then > files {
		a.modified = 0
	}
}

// said returns the date that a note gives itself, or its last commit if that tells it from others;
// ok is false for logs.
func (a askedTimes) said(r store.Record) (d noteDate, ok bool) {
	if r.Kind == source.KindConversation || r.Kind == KindStatement {
		return noteDate{}, false
	}
	said := a.documents.of(r.Path).Said
	if said.Commit && a.modified == 0 {
		said = noteDate{}
	}
	return dateOf(r.Headings, said, r.Time), true
}

// timeOf also returns its certainty, in [0, 1]: a file's last change is less sure than the date
// that a note gives itself.
func (a askedTimes) timeOf(r store.Record) (at time.Time, sure float64) {
	if d, ok := a.said(r); ok && (!d.isKnown() || d.Commit) {
		return r.Time, a.modified
	}
	return r.Time, 1
}

// minFit is the lowest fit of a day that a prompt may mean: two days beside the one it names.
const minFit = 0.1

// isOfAnotherDay reports whether a note is of a day, none of those that a question names by their
// numbers, and does not speak of those either. "It broke yesterday" may ask for older notes.
func (g *gathered) isOfAnotherDay(c *candidate) bool {
	if len(g.times.spans) == 0 {
		return false
	}
	d, _ := g.times.said(c.record)
	if !d.Day || g.times.fit(c.record.Time) >= minFit || c.Holds&g.times.words == g.times.words {
		return false
	}
	return !slices.ContainsFunc(g.times.spans, func(s when.Span) bool { return !g.names(s) })
}

// names reports whether the question names a span by its numbers.
func (g *gathered) names(s when.Span) bool {
	return strings.ContainsFunc(g.question.Text[s.Start:s.End], unicode.IsDigit)
}

// timely is how well a record fits, in [0, 1].
func (a askedTimes) timely(r store.Record) float64 {
	if len(a.spans) == 0 {
		return 0
	}
	if d, _ := a.said(r); a.overlaps(d) {
		return 1
	}
	at, sure := a.timeOf(r)
	return sure * a.fit(at)
}

// overlaps reports whether a note is of a week or month that has a part of a span.
func (a askedTimes) overlaps(d noteDate) bool {
	return slices.ContainsFunc(a.spans, func(s when.Span) bool { return d.From.Before(s.To) && s.From.Before(d.To) })
}

// dateShare is how much of a word's score a date gives that has it: as much as the date of a turn,
// which the keyword index holds as words of half the weight.
const dateShare = 0.5 / (1.2 + 0.5)

// holdDates lets notes of a time that is asked for hold its words, which are not in their text:
// "what did the auditors want on 1 September". They must be about the rest of the question, too. Of
// turns, the keyword index has the words of their dates.
func (q *query) holdDates(g *gathered) {
	words := g.question.Words[:min(len(g.question.Words), store.MaxTerms)]
	share := make([]float64, len(words)) // of the ceiling
	sum := 0.0
	for i, w := range words {
		if w.Compound && w.Records == 0 {
			continue
		}
		n := float64(max(w.Records, 1))
		share[i] = math.Log(1 + (max(float64(g.question.Chunks), n)-n+0.5)/(n+0.5))
		sum += share[i]
		if slices.ContainsFunc(g.times.spans, func(s when.Span) bool { return holdsWord(g.question.Text[s.Start:s.End], w.Text) }) {
			g.times.words |= 1 << i
		}
	}
	if g.times.words == 0 || sum == 0 {
		return
	}
	holders := 0
	for _, c := range g.candidates {
		d, _ := g.times.said(c.record)
		isNear := c.Cosine != nil && q.index.relevance.Nearness(*c.Cosine) >= minNearWithWord
		isThen := g.times.fit(c.record.Time) == 1 || g.times.overlaps(d)
		if d.Commit { // much is committed "today", and says nothing of it
			isThen = slices.ContainsFunc(g.times.spans, func(s when.Span) bool { return g.names(s) && s.Contains(c.record.Time) })
		}
		if !d.isKnown() || !isThen || !isNear && c.Holds&^g.times.words == 0 {
			continue
		}
		holders++
		for i := range share {
			if bit := uint64(1) << i; g.times.words&bit&^c.Holds != 0 {
				c.BM25 += dateShare * g.question.Ceiling * share[i] / sum
			}
		}
		c.Holds |= g.times.words
		c.Near |= g.times.words
	}
	for i := range words {
		if g.times.words&(1<<i) != 0 {
			words[i].Records += holders
		}
	}
}

func holdsWord(text, word string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(word))
}

// fit falls off after a span over its length or half a day, and faster before it: what
// happened is mostly told on the next day.
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
		beyond := max(fasterBefore*s.From.Sub(t).Hours(), t.Sub(s.To).Hours()) / length.Hours()
		best = max(best, math.Exp(-beyond*beyond))
	}
	return best
}

// fasterBefore still lets the day before one that is asked for pass minFit.
const fasterBefore = 1.5

// addTimely adds records of the spans, which other times may outrank.
func (q *query) addTimely(ctx context.Context, vector []float32, g *gathered) error {
	known := map[string]int{} // places by text
	for i, c := range g.candidates {
		known[c.Text] = i
	}
	var errs []error
	add := func(hits []store.Hit, err error) {
		errs = append(errs, err)
		for _, c := range merge(q.index.manifest, hits, nil) {
			at, ok := known[c.Text]
			switch {
			case !ok:
				known[c.Text] = len(g.candidates)
				g.candidates = append(g.candidates, &candidate{Ranked: candidateOf(c.record).Ranked, record: c.record, copies: c.copies}) // its scores are of the span alone
			case g.times.timely(c.record) > g.times.timely(g.candidates[at].record): // it was said then, too
				c.copies = append(c.copies, g.candidates[at].record)
				g.candidates[at] = &candidate{Ranked: candidateOf(c.record).Ranked, record: c.record, copies: c.copies}
			}
		}
	}
	for _, span := range g.times.spans {
		f := within(q.filter, span)
		matches, err := q.match(ctx, g.question.Text, f)
		add(matches.Hits, err)
		if vector != nil {
			add(q.nearest(ctx, vector, f))
		}
		if g.times.only { // no other word need match: turns are indexed with their date, so the year finds them
			matches, err := q.match(ctx, yearsOf(span), f)
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

// admitTimely raises such candidates to byTime. Their order stays, but the parts of a note of the
// day that is asked for are in that of the note.
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
	for _, s := range a.spans {
		if s.To.Sub(s.From) > 25*time.Hour { // no day
			return
		}
	}
	places := map[string][]int{}
	for i, c := range ranked {
		if d, _ := a.said(c.record); c.byTime && d.Day {
			places[c.Path] = append(places[c.Path], i)
		}
	}
	for _, of := range places {
		parts := make([]*candidate, len(of))
		for i, place := range of {
			parts[i] = ranked[place]
		}
		slices.SortStableFunc(parts, func(x, y *candidate) int { return cmp.Compare(x.record.StartLine, y.record.StartLine) })
		for i, place := range of {
			ranked[place] = parts[i]
		}
	}
}
