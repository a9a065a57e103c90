// Package injection gives a hint that a text tries to instruct the model that reads it.
//
// It cuts a text into windows of a few sentences. A logistic function weighs the features of each:
// classes of words in 21 languages, their shape, rules and n-grams. A text that passes is still
// data from outside.
package injection

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

const (
	maxFindings = 4
	maxSigns    = 4
	longExcerpt = 160 // bytes
)

// flaggedFrom is the lowest level that is flagged.
const flaggedFrom = 0.5

// judged is a window with its level.
type judged struct {
	Window
	reading *reading // nil if the window is not flagged
	certain string   // why it is flagged whatever its score
	level   float64  // the score, scaled so that its threshold is flaggedFrom
	encoded bool
}

// judge judges a text of an origin, in linear time.
func judge(text string, from Origin, weights *Weights) (v Verdict) {
	all := weigh(text, from, weights)
	slices.SortStableFunc(all, func(a, b judged) int { return cmp.Compare(b.level, a.level) })
	var covered []span
	for _, w := range all {
		v.Score = max(v.Score, w.level)
		if w.reading == nil {
			continue
		}
		v.Flagged = true
		v.spans = append(v.spans, span{w.Start, w.End})
		overlaps := func(s span) bool { return s.start < w.End && w.Start < s.end }
		if len(v.Findings) < maxFindings && !slices.ContainsFunc(covered, overlaps) {
			covered = append(covered, span{w.Start, w.End})
			v.Findings = append(v.Findings, w.finding(text, weights))
		}
	}
	v.spans = merged(v.spans)
	return v
}

// weigh scores the windows of a text.
func weigh(text string, from Origin, weights *Weights) (all []judged) {
	for _, w := range windows(addressed(text)) {
		all = append(all, judged{Window: w})
	}
	for _, w := range encodedWindows(text) {
		all = append(all, judged{Window: w, encoded: true})
	}
	limit := weights.Thresholds[from]
	var features []Feature
	for i := range all {
		w := &all[i]
		r := read(w.Text)
		features = r.appendFeatures(features[:0])
		score := weights.score(features)
		switch w.certain = certain(w.Text, r.folded); {
		case w.certain != "":
			w.level = 1
		case score >= limit:
			w.level = flaggedFrom + (1-flaggedFrom)*(score-limit)/(1-limit)
		default:
			w.level = flaggedFrom * score / limit
		}
		if w.level >= flaggedFrom {
			w.reading = r
		}
	}
	return all
}

func (w *judged) finding(text string, weights *Weights) Finding {
	said := w.Text
	if !w.encoded {
		said = text[w.Start:w.End] // with what it quotes
	}
	f := Finding{
		Score: math.Floor(w.level*1000+0.5) / 1000, Start: w.Start, End: w.End,
		Line: 1 + strings.Count(text[:w.Start], "\n"), Excerpt: excerpt(said), Signs: w.signs(weights),
	}
	for i := range rules {
		if w.reading.rules&(1<<i) != 0 {
			f.Rules = append(f.Rules, rules[i].name)
		}
	}
	if w.certain != "" {
		f.Rules = append(f.Rules, w.certain)
	}
	if w.encoded {
		f.Rules = append(f.Rules, "says it in code")
	}
	return f
}

// signs names the features that weigh most.
func (w *judged) signs(weights *Weights) (signs []string) {
	const little = 0.3
	features := slices.DeleteFunc(w.reading.appendFeatures(nil), func(f Feature) bool {
		return f.ID >= firstRule || weights.dense[f.ID] <= little
	})
	slices.SortStableFunc(features, func(a, b Feature) int {
		return cmp.Compare(weights.dense[b.ID], weights.dense[a.ID])
	})
	for _, f := range features[:min(len(features), maxSigns)] {
		signs = append(signs, Names()[f.ID])
	}
	return signs
}

// excerpt returns a copy of a text's beginning.
func excerpt(text string) string {
	if len(text) <= longExcerpt {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:longExcerpt], "") + "…"
}

// Measure returns the features of the windows of a text, to fit weights.
func Measure(text string) (features [][]Feature) {
	for _, w := range slices.Concat(windows(addressed(text)), encodedWindows(text)) {
		features = append(features, read(w.Text).appendFeatures(nil))
	}
	return features
}
