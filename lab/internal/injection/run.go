package injection

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/text/injection"
)

// Options of Run.
type Options struct {
	Folds int  // of the cross-validation; 0 is 5
	Quick bool // skip leaving out one source at a time
	// Alarms are the shares of notes that may be flagged if the user wrote them, and if strangers
	// did; 0 is 0.006 and 0.015.
	Alarms [injection.Origins]float64
}

func (o Options) withDefaults() Options {
	o.Folds = cmp.Or(o.Folds, 5)
	o.Alarms[injection.Own] = cmp.Or(o.Alarms[injection.Own], 0.006)
	o.Alarms[injection.Foreign] = cmp.Or(o.Alarms[injection.Foreign], 0.015)
	return o
}

// A Model holds the fitted weights.
type Model = injection.Model

// Run fits a model to the texts not held, and writes a report.
func Run(ctx context.Context, texts []*Text, out io.Writer, o Options) (*Model, error) {
	Group(texts)
	r := &fitting{sample: measure(texts), out: out, o: o.withDefaults()}
	var dropped int
	r.train, dropped = r.trainable()
	fmt.Fprintf(out, "%d texts in %d groups; %d to fit to (%d more are near duplicates of what is held back)\n",
		len(texts), r.groups(), len(r.train), dropped)

	model := &injection.Model{}
	words, limit, err := r.fitAll(ctx)
	if err != nil {
		return nil, err
	}
	if model.Words, err = injection.NewWeights(words.dense, words.bias, limit.thresholds()); err != nil {
		return nil, err
	}
	model.Fitted = fmt.Sprintf("%d texts, by lab/injection, %s", len(r.train), time.Now().Format(time.DateOnly))
	model.Seal()
	return model, nil
}

// A fitting is a call of Run.
type fitting struct {
	*sample
	train []int
	out   io.Writer
	o     Options
}

// fitAll cross-validates and fits weights, and returns their limits.
func (r *fitting) fitAll(ctx context.Context) (*weights, limits, error) {
	all, err := r.crossValidate(ctx)
	if err != nil {
		return nil, limits{}, err
	}
	limit := limitsOf(all, r.o.Alarms)
	fmt.Fprintf(r.out, "\n## %d-fold, thresholds %.3f\n\n", r.o.Folds, limit.thresholds())
	table(r.out, limit.flag(all))
	if !r.o.Quick {
		alone, err := r.leaveOneSourceOut(ctx)
		if err != nil {
			return nil, limits{}, err
		}
		fmt.Fprint(r.out, "\n## leave one source out\n\n")
		table(r.out, limit.flag(alone))
	}
	f := r.fit(r.train)
	fmt.Fprint(r.out, "\n## the half that was held back\n\n")
	table(r.out, limit.flag(r.scoreHeld(f)))
	return f, limit, nil
}

// scoreHeld scores the held texts.
func (r *fitting) scoreHeld(f *weights) (held []scored) {
	for i, t := range r.texts {
		if t.Held {
			score, _ := f.highest(r.windows[i])
			held = append(held, scored{Text: t, score: score})
		}
	}
	return held
}

// crossValidate scores each text by weights fitted without its group.
func (r *fitting) crossValidate(ctx context.Context) (all []scored, err error) {
	folds := uint32(r.o.Folds)
	fold := func(t *Text) uint32 { return uint32(t.group) * 2654435761 >> 16 % folds }
	for k := range folds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f := r.fit(r.without(func(t *Text) bool { return fold(t) == k }))
		for i, t := range r.texts {
			if !t.Held && fold(t) == k {
				all = append(all, scored{Text: t, score: f.textScore(r.sample, i)})
			}
		}
	}
	return all, nil
}

// leaveOneSourceOut scores sources by weights fitted without them and their near duplicates.
func (r *fitting) leaveOneSourceOut(ctx context.Context) (all []scored, err error) {
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
		f := r.fit(r.without(func(t *Text) bool { return groups[source][t.group] }))
		for i, t := range r.texts {
			if !t.Held && t.Source == source {
				all = append(all, scored{Text: t, score: f.textScore(r.sample, i)})
			}
		}
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
