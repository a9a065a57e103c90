// Package injection detects text that tries to instruct the model that reads it.
//
// It cuts a text into windows of a few sentences. A logistic function weighs the features of each:
// classes of words in 21 languages, shape, rules and n-grams. Meaning does not help: with vectors
// of the built-in embedding model, no share of attacks or of harmless texts changed by a point. A
// verdict is a hint: text that passes is still data from outside.
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

// A Detector judges texts. It is safe for concurrent use.
type Detector struct{ model *Model }

// New returns a detector. A nil model is Shipped.
func New(model *Model) *Detector {
	if model == nil {
		model = Shipped()
	}
	return &Detector{model}
}

// judged is a window with its score.
type judged struct {
	Window
	rules    ruleSet
	features []Feature // nil if the window is not flagged
	score    float64
	limit    float64 // threshold of the score
	encoded  bool
}

// Judge judges a text of an origin, in linear time.
func (d *Detector) Judge(text string, from Origin) (v Verdict) {
	all := d.weigh(text, from)
	slices.SortStableFunc(all, func(a, b judged) int { return cmp.Compare(b.excess(), a.excess()) })
	var covered []span
	for _, w := range all {
		v.Score = max(v.Score, w.level())
		if !w.flagged() {
			continue
		}
		v.Flagged = true
		v.spans = append(v.spans, span{w.Start, w.End})
		overlaps := func(s span) bool { return s.overlaps(w.Start, w.End) }
		if len(v.Findings) < maxFindings && !slices.ContainsFunc(covered, overlaps) {
			covered = append(covered, span{w.Start, w.End})
			v.Findings = append(v.Findings, d.finding(text, w))
		}
	}
	v.spans = merged(v.spans)
	return v
}

// weigh scores the windows of a text.
func (d *Detector) weigh(text string, from Origin) (all []judged) {
	for _, w := range windows(text) {
		all = append(all, judged{Window: w})
	}
	for _, w := range encodedWindows(text) {
		all = append(all, judged{Window: w, encoded: true})
	}
	var features []Feature
	for i := range all {
		w := &all[i]
		r := read(w.Text)
		features = r.appendFeatures(features[:0])
		w.rules, w.limit = r.rules, d.model.Words.Thresholds[from]
		w.score = d.model.Words.Score(features)
		if w.flagged() {
			w.features = slices.Clone(features)
		}
	}
	return all
}

// excess is the score minus its threshold.
func (w *judged) excess() float64 {
	if deciding(w.rules) {
		return 1
	}
	return w.score - w.limit
}

func (w *judged) flagged() bool { return w.excess() >= 0 }

// level is the score, scaled to a threshold of 0.5.
func (w *judged) level() float64 {
	if deciding(w.rules) {
		return 1
	}
	if w.score >= w.limit {
		return 0.5 + 0.5*(w.score-w.limit)/(1-w.limit)
	}
	return 0.5 * w.score / w.limit
}

func (d *Detector) finding(text string, w judged) Finding {
	f := Finding{
		Score: math.Floor(w.level()*1000+0.5) / 1000, Start: w.Start, End: w.End,
		Line: 1 + strings.Count(text[:w.Start], "\n"), Excerpt: excerpt(w.Text), Signs: d.signs(w),
	}
	for i := range rules {
		if w.rules&(1<<i) != 0 {
			f.Rules = append(f.Rules, rules[i].name)
		}
	}
	if w.encoded {
		f.Rules = append(f.Rules, "says it in code")
	}
	return f
}

// signs names the features that weigh most.
func (d *Detector) signs(w judged) (names []string) {
	type sign struct {
		name   string
		weight float32
	}
	var signs []sign
	for _, x := range w.features {
		if weight := d.model.Words.dense[x.ID] * x.Value; x.ID < firstRule && weight > 0.3 {
			signs = append(signs, sign{nameOf(x.ID), weight})
		}
	}
	slices.SortFunc(signs, func(a, b sign) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.name, b.name))
	})
	for _, s := range signs[:min(len(signs), maxSigns)] {
		names = append(names, s.name)
	}
	return names
}

// excerpt returns a copy of a text's beginning.
func excerpt(text string) string {
	if len(text) <= longExcerpt {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:longExcerpt], "") + "…"
}

// Measure returns the windows of a text and their features, to fit a model.
func Measure(text string) (all []Window, features [][]Feature) {
	all = append(windows(text), encodedWindows(text)...)
	for _, w := range all {
		features = append(features, read(w.Text).appendFeatures(nil))
	}
	return all, features
}
