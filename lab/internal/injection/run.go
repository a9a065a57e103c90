package injection

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/text/injection"
)

// Options of Run.
type Options struct {
	Folds    int      // of the cross-validation; 0 is 5
	Quick    bool     // skip leaving out one source at a time
	Embed    Embedder // the built-in model; nil fits no Meaning
	Progress func(done, of int)
	// Alarms are the shares of notes that may be flagged if the user wrote them, and if strangers
	// did; 0 is 0.006 and 0.015.
	Alarms [injection.Origins]float64
}

func (o Options) withDefaults() Options {
	o.Folds = cmp.Or(o.Folds, 5)
	o.Alarms[injection.Own] = cmp.Or(o.Alarms[injection.Own], 0.006)
	o.Alarms[injection.Foreign] = cmp.Or(o.Alarms[injection.Foreign], 0.015)
	if o.Progress == nil {
		o.Progress = func(int, int) {}
	}
	return o
}

// A Model holds the fitted weights.
type Model = injection.Model

// Run fits a model to the texts not held, and writes a report.
func Run(ctx context.Context, texts []*Text, out io.Writer, o Options) (*Model, error) {
	Group(texts)
	r := &fitting{sample: measure(texts), out: out, o: o.withDefaults(), alone: map[string]*weights{}}
	var dropped int
	r.train, dropped = r.trainable()
	fmt.Fprintf(out, "%d texts in %d groups; %d to fit to (%d more are near duplicates of what is held back)\n",
		len(texts), r.groups(), len(r.train), dropped)

	model := &injection.Model{Ask: [2]float64{0, 1}}
	words, limit, err := r.fitKind(ctx, "words and shape", wordsOnly())
	if err != nil {
		return nil, err
	}
	if model.Words, err = injection.NewWeights(words.dense, words.bias, limit.thresholds()); err != nil {
		return nil, err
	}
	model.Meaning = injection.Weights{Bias: model.Words.Bias, Thresholds: model.Words.Thresholds}
	if o.Embed != nil {
		r.doubt = limit
		if err := embedDoubtful(ctx, r.windows, limit, r.o); err != nil {
			return nil, err
		}
		settings := withMeaning()
		settings.sure = limit[injection.Own] + doubtAbove
		model.Ask = [2]float64{logistic(limit[injection.Foreign] - doubtBelow), logistic(settings.sure)}
		r.reportVectors(out)
		meaning, limit, err := r.fitKind(ctx, "words, shape and meaning", settings)
		if err != nil {
			return nil, err
		}
		if model.Meaning, err = model.Words.WithVector(meaning.dense[injection.Features:], words.bias+meaning.bias, limit.thresholds()); err != nil {
			return nil, err
		}
	}
	model.Fitted = fmt.Sprintf("%d texts, by lab/injection, %s", len(r.train), time.Now().Format(time.DateOnly))
	model.Seal()
	return model, nil
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// A fitting is a call of Run.
type fitting struct {
	*sample
	train []int
	out   io.Writer
	o     Options
	alone map[string]*weights // by words, fitted without a source
	doubt limits              // of scores by words
}

// fitKind cross-validates and fits one kind of weights, and returns their limits.
func (r *fitting) fitKind(ctx context.Context, name string, o settings) (*weights, limits, error) {
	all, err := r.crossValidate(ctx, o)
	if err != nil {
		return nil, limits{}, err
	}
	limit := limitsOf(all, r.o.Alarms)
	fmt.Fprintf(r.out, "\n## %s: %d-fold, thresholds %.3f\n\n", name, r.o.Folds, limit.thresholds())
	table(r.out, limit.flag(all))
	if !r.o.Quick {
		alone, err := r.leaveOneSourceOut(ctx, o)
		if err != nil {
			return nil, limits{}, err
		}
		fmt.Fprintf(r.out, "\n## %s: leave one source out\n\n", name)
		table(r.out, limit.flag(alone))
	}
	f := r.fit(r.train, o)
	fmt.Fprintf(r.out, "\n## %s: the half that was held back\n\n", name)
	table(r.out, limit.flag(r.scoreHeld(f)))
	return f, limit, nil
}

// scoreHeld scores the held texts.
func (r *fitting) scoreHeld(f *weights) (held []scored) {
	for i, t := range r.texts {
		if t.Held {
			r.keepWords(f, i)
			score, _ := f.highest(r.windows[i])
			held = append(held, scored{Text: t, score: score})
		}
	}
	return held
}

// keepWords stores a text's scores by words for the fit with meaning.
func (r *fitting) keepWords(f *weights, i int) {
	if f.vectors {
		return
	}
	for k := range r.windows[i] {
		w := &r.windows[i][k]
		w.words = f.score(w)
	}
}

// crossValidate scores each text by weights fitted without its group.
func (r *fitting) crossValidate(ctx context.Context, o settings) (all []scored, err error) {
	folds := uint32(r.o.Folds)
	fold := func(t *Text) uint32 { return uint32(t.group) * 2654435761 >> 16 % folds }
	for k := range folds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := r.fit(r.without(func(t *Text) bool { return fold(t) == k }), o)
		for i, t := range r.texts {
			if !t.Held && fold(t) == k {
				all = append(all, scored{Text: t, score: f.textScore(r.sample, i)})
				r.keepWords(f, i)
			}
		}
	}
	return all, nil
}

// leaveOneSourceOut scores sources by weights fitted without them and their near duplicates. Weights
// of meaning correct those of words that have not seen the source either.
func (r *fitting) leaveOneSourceOut(ctx context.Context, o settings) (all []scored, err error) {
	groups := map[string]map[int]bool{} // by source
	for _, i := range r.train {
		t := r.texts[i]
		if groups[t.Source] == nil {
			groups[t.Source] = map[int]bool{}
		}
		groups[t.Source][t.group] = true
	}
	for _, source := range slices.Sorted(maps.Keys(groups)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := r.fit(r.without(func(t *Text) bool { return groups[source][t.group] }), o)
		if !o.vectors {
			r.alone[source] = f
		}
		scores, err := r.scoreSource(ctx, source, f)
		if err != nil {
			return nil, err
		}
		all = append(all, scores...)
	}
	return all, nil
}

// scoreSource scores the texts of a source that weights were fitted without.
func (r *fitting) scoreSource(ctx context.Context, source string, f *weights) (all []scored, err error) {
	var of []int
	for i, t := range r.texts {
		if !t.Held && t.Source == source {
			of = append(of, i)
		}
	}
	if f.vectors {
		known := r.windows
		defer func() { r.windows = known }()
		r.windows = slices.Clone(known)
		var windows [][]window
		for _, i := range of {
			r.windows[i] = slices.Clone(known[i])
			r.keepWords(r.alone[source], i)
			windows = append(windows, r.windows[i])
		}
		if err := embedDoubtful(ctx, windows, r.doubt, r.o); err != nil {
			return nil, err
		}
	}
	for _, i := range of {
		all = append(all, scored{Text: r.texts[i], score: f.textScore(r.sample, i)})
	}
	return all, nil
}

// without returns the texts to fit to, except some.
func (r *fitting) without(drop func(*Text) bool) (some []int) {
	for _, i := range r.train {
		if !drop(r.texts[i]) {
			some = append(some, i)
		}
	}
	return some
}
