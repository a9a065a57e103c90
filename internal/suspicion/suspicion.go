// Package suspicion tells how suspicious a text is: whether it speaks to a model that reads it, in order to make it do
// something, rather than to a person.
//
// It is the one place that decides this. A text is cut into windows of a sentence or a few; each is read for what its words can
// stand for in some twenty languages, for its shape, and for rules, and weighed by a logistic function that a tool in the tree
// fits (memcore eval injection). With the built-in embedding model, windows that words alone leave in doubt are weighed by their
// meaning too. Nothing here changes a text. The one rule for its users: a verdict is a hint, no proof; a text that it lets pass is
// still data from outside.
package suspicion

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Verdict says how suspicious a text is.
type Verdict struct {
	// Suspicious is what it comes to.
	Suspicious bool `json:"suspicious"`
	// Score is that of the most suspicious window, in [0, 1].
	Score float64 `json:"score"`
	// Findings are the windows that are suspicious, the most suspicious first, mostFindings at most; none if the text is not.
	Findings []Finding `json:"findings,omitempty"`
	// Without says that meaning was not asked, because the embedding model failed.
	Without bool   `json:"withoutMeaning,omitempty"`
	spans   []span // all that is suspicious, in order, none touching another
}

// Touches tells whether a suspicious part of the text touches [start, end), in bytes.
func (v Verdict) Touches(start, end int) bool {
	return slices.ContainsFunc(v.spans, func(s span) bool { return s.start < end && start < s.end })
}

// WithoutExcerpts is the verdict for who must not see the text outside of its frame. v, which a Screen gives to others as well, stays as it is.
func (v Verdict) WithoutExcerpts() Verdict {
	v.Findings = slices.Clone(v.Findings)
	for i := range v.Findings {
		v.Findings[i].Excerpt = ""
	}
	return v
}

// Parts are the suspicious parts of the text that was judged, in order, none touching another.
func (v Verdict) Parts(text string) (parts []string) {
	for _, s := range v.spans {
		parts = append(parts, text[s.start:s.end])
	}
	return parts
}

// Redact returns the text that was judged with each of its suspicious parts replaced.
func (v Verdict) Redact(text, by string) string {
	var b strings.Builder
	from := 0
	for _, s := range v.spans {
		b.WriteString(text[from:s.start])
		b.WriteString(by)
		from = s.end
	}
	b.WriteString(text[from:])
	return b.String()
}

// A Finding is a suspicious part of a text.
type Finding struct {
	Score float64 `json:"score"` // in [0, 1]
	// Rules are those that hold of it; none if its words and meaning alone tell.
	Rules []string `json:"rules,omitempty"`
	// Signs are what speaks for suspicion most, such as "ignore + orders".
	Signs []string `json:"signs,omitempty"`
	// Start and End are the window, in bytes of the text.
	Start int `json:"start"`
	End   int `json:"end"`
	// Line is that of Start in the text, from 1.
	Line int `json:"line"`
	// Excerpt is how the window begins, as it stands in the text: data from outside. Of a coded one, what it says.
	Excerpt string `json:"excerpt,omitempty"`
}

const (
	mostFindings = 4
	mostSigns    = 4
	longExcerpt  = 160 // bytes
)

// An Embedder makes vectors of texts, in order, with the built-in model.
type Embedder func(ctx context.Context, texts []string) ([][]float32, error)

// A Detector judges texts. It is safe for concurrent use.
type Detector struct {
	model *Model
	embed Embedder
}

// New returns a detector with a model; nil is the one that comes with memcore. embed is the built-in embedding model; nil judges
// by words and shape alone.
func New(model *Model, embed Embedder) *Detector {
	if model == nil {
		model = Shipped()
	}
	return &Detector{model, embed}
}

// A judged is a window and what was said of it.
type judged struct {
	Window
	rules    ruleSet
	features []Feature // nil if the window is beyond doubt
	score    float64
	limit    float64
	decoded  bool
}

// Judge says how suspicious a text is. The time it takes grows with the length of the text. It does not fail: without the
// embedding model the verdict is by words alone, and says so.
func (d *Detector) Judge(ctx context.Context, text string) Verdict {
	var all []judged
	for _, w := range windows(text) {
		all = append(all, judged{Window: w})
	}
	for _, w := range hiddenIn(text) {
		all = append(all, judged{Window: w, decoded: true})
	}
	var some []Feature
	for i := range all {
		w := &all[i]
		r := read(w.Text)
		some = some[:0]
		r.features(func(f Feature) { some = append(some, f) })
		w.rules, w.score, w.limit = r.rules, d.model.Words.Score(some, nil), d.model.Words.Threshold
		if w.score > d.model.Ask[0] {
			w.features = slices.Clone(some)
		}
	}
	v := Verdict{Without: !d.weighMeaning(ctx, all)}
	slices.SortStableFunc(all, func(a, b judged) int { return cmp.Compare(b.over(), a.over()) })
	var covered []span
	for _, w := range all {
		v.Score = max(v.Score, w.level())
		if w.suspicious() {
			v.spans = append(v.spans, span{w.Start, w.End})
		}
		if !w.suspicious() || len(v.Findings) == mostFindings || slices.ContainsFunc(covered, func(s span) bool { return w.Start < s.end && s.start < w.End }) {
			continue
		}
		covered = append(covered, span{w.Start, w.End})
		v.Suspicious = true
		v.Findings = append(v.Findings, d.finding(text, w))
	}
	v.spans = merged(v.spans)
	return v
}

// merged are spans in order, those that touch as one.
func merged(spans []span) (all []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for _, s := range spans {
		if last := len(all) - 1; last >= 0 && s.start <= all[last].end {
			all[last].end = max(all[last].end, s.end)
			continue
		}
		all = append(all, s)
	}
	return all
}

// over is how far a window is above its limit: what makes scores of the two sets of weights comparable.
func (w *judged) over() float64 {
	if deciding(w.rules) {
		return 1
	}
	return w.score - w.limit
}

// level is the score such that 0.5 is the limit, whatever weights it comes from.
func (w *judged) level() float64 {
	if deciding(w.rules) {
		return 1
	}
	if w.score >= w.limit {
		return 0.5 + 0.5*(w.score-w.limit)/(1-w.limit)
	}
	return 0.5 * w.score / w.limit
}

func (w *judged) suspicious() bool { return w.over() >= 0 }

// weighMeaning weighs those windows again that words leave in doubt. It is false if the embedding model failed.
func (d *Detector) weighMeaning(ctx context.Context, all []judged) bool {
	if d.embed == nil {
		return true
	}
	var texts []string
	var of []int
	for i, w := range all {
		if w.score > d.model.Ask[0] && w.score < d.model.Ask[1] && !deciding(w.rules) {
			texts, of = append(texts, w.Text), append(of, i)
		}
	}
	if len(texts) == 0 {
		return true
	}
	vectors, err := d.embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return false
	}
	for k, i := range of {
		all[i].score, all[i].limit = d.model.Meaning.Score(all[i].features, vectors[k]), d.model.Meaning.Threshold
	}
	return true
}

func (d *Detector) finding(text string, w judged) Finding {
	f := Finding{Score: round(w.level()), Start: w.Start, End: w.End, Line: 1 + strings.Count(text[:w.Start], "\n"), Excerpt: shorten(w.Text)}
	for i := range rules {
		if w.rules&(1<<i) != 0 {
			f.Rules = append(f.Rules, rules[i].name)
		}
	}
	if w.decoded {
		f.Rules = append(f.Rules, "says it in code")
	}
	type sign struct {
		name string
		says float32
	}
	var signs []sign
	for _, x := range w.features {
		if says := d.model.Words.dense[x.ID] * x.Value; x.ID < firstRule && says > 0.3 {
			signs = append(signs, sign{nameOf(x.ID), says})
		}
	}
	slices.SortFunc(signs, func(a, b sign) int { return cmp.Or(cmp.Compare(b.says, a.says), cmp.Compare(a.name, b.name)) })
	for _, s := range signs[:min(len(signs), mostSigns)] {
		f.Signs = append(f.Signs, s.name)
	}
	return f
}

func round(x float64) float64 { return float64(int(x*1000+0.5)) / 1000 }

// shorten is the beginning of a text, which need not be kept for it.
func shorten(text string) string {
	if len(text) <= longExcerpt {
		return strings.Clone(text)
	}
	n := longExcerpt
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// Measure is what a model is fitted to: the windows of a text, those in code too, and their features.
func Measure(text string) (all []Window, features [][]Feature) {
	all = append(windows(text), hiddenIn(text)...)
	for _, w := range all {
		var some []Feature
		read(w.Text).features(func(f Feature) { some = append(some, f) })
		features = append(features, some)
	}
	return all, features
}

const (
	shortestCode = 24      // bytes of base64
	mostDecoded  = 1 << 14 // bytes of a text that are decoded, in all
)

// hiddenIn are the texts that stand in a text in base64 or in tag characters, each at its place.
func hiddenIn(text string) []Window {
	var found []Window
	left := mostDecoded
	add := func(start, end int, said string) {
		for _, w := range windows(said) {
			found = append(found, Window{start, end, w.Text})
		}
	}
	start := -1
	for i := 0; i <= len(text) && left > 0; i++ {
		if i < len(text) && isBase64(text[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start >= shortestCode {
			if said := decoded(text[start:min(i, start+left*4/3)]); said != "" {
				left -= len(said)
				add(start, i, said)
			}
		}
		start = -1
	}
	if said, from, to := smuggled(text); len(said) >= 4 {
		add(from, to, said)
	}
	return found
}

func isBase64(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '+' || c == '/' || c == '-' || c == '_' || c == '='
}

// decoded is what a run of base64 says, if it is text with blanks; "" otherwise.
func decoded(run string) string {
	run = strings.TrimRight(run, "=")
	run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
	if len(run)%4 == 1 {
		run = run[:len(run)-1]
	}
	raw, err := base64.RawStdEncoding.DecodeString(run)
	if err != nil {
		return ""
	}
	said := string(raw)
	for len(said) > 0 && !utf8.ValidString(said) {
		if len(raw)-len(said) > 3 {
			return ""
		}
		said = said[:len(said)-1] // cut within a character
	}
	blanks := 0
	for _, r := range said {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7F {
			return ""
		}
		if r == ' ' {
			blanks++
		}
	}
	if blanks < 2 {
		return ""
	}
	return said
}

// smuggled is what a text says in tag characters, which look like nothing and spell ASCII.
func smuggled(text string) (said string, from, to int) {
	if !strings.Contains(text, "\xf3\xa0") {
		return "", 0, 0
	}
	var b strings.Builder
	for i, r := range text {
		if r >= 0xE0020 && r <= 0xE007E {
			if b.Len() == 0 {
				from = i
			}
			to = i + utf8.RuneLen(r)
			if b.Len() < mostDecoded {
				b.WriteByte(byte(r - 0xE0000))
			}
		}
	}
	return b.String(), from, to
}
