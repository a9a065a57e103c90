package fit

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
)

const (
	// turnHits is how many candidates of a prompt, best first, the decision is fitted to: a turn
	// gives no more.
	turnHits = 2
	// turnRidge is the ridge of decisions.
	turnRidge = 10
	// wordsCandidates is so for what is decided by words.
	wordsCandidates = 8
	// orderRidge is the ridge of the order, for each unit of weight.
	orderRidge = 0.005
	// relatedWeight is that of a pair of a related and another candidate; one with a wanted is 1.
	relatedWeight = 0.3
)

// Turns fits a Turn model: values that put wanted candidates before others, and two logistic
// regressions of whether the first ones are wanted. Least silences at least the share silence of
// prompts that want nothing. Scores decide teammates' questions.
func Turns(found []FoundTurn, silence float64) (*relevance.Turn, error) {
	if !(silence > 0 && silence < 1) {
		return nil, fmt.Errorf("fit turns: silence is %g, want it between 0 and 1", silence)
	}
	found = slices.DeleteFunc(slices.Clone(found), func(f FoundTurn) bool { return f.Kind == eval.KindTeamQuestion })
	m, err := turnModel(found, silence)
	if err != nil {
		return nil, fmt.Errorf("fit turns: %w", err)
	}
	return m, nil
}

func turnModel(found []FoundTurn, silence float64) (*relevance.Turn, error) {
	prior, err := earlier(found)
	if err != nil {
		return nil, err
	}
	m := &relevance.Turn{Earlier: prior, Weights: map[string]float64{}}
	weights, err := order(found)
	if err != nil {
		return nil, err
	}
	for i, name := range relevance.TurnNames {
		m.Weights[name] = round(weights[i], 4)
	}
	turns := ordered(m, found)
	bias, weights, err := regression(turns, prior, turnHits, func(c valued) []float64 { return []float64{c.value, c.lead} })
	if err != nil {
		return nil, err
	}
	m.Bias, m.Scale, m.Lead = round(bias, 3), round(weights[0], 4), round(weights[1], 4)
	if m.Least, err = least(m, turns, silence, func(c valued) float64 { return m.Worth(c.value, c.lead) }); err != nil {
		return nil, err
	}

	bias, weights, err = regression(turns, prior, wordsCandidates, func(c valued) []float64 { return []float64{c.Held} })
	if err != nil {
		return nil, err
	}
	m.Words = relevance.HeldWords{Bias: bias, Held: round(weights[0], 3)}
	words, err := least(m, turns, silence, func(c valued) float64 { return m.WorthOfWords(c.Held) })
	m.Words.Bias = round(bias+odds(m.Least)-odds(words), 3) // both have one Least
	return m, err
}

func odds(p float64) float64 { return math.Log(p / (1 - p)) }

// order returns the weights of a Value: a logistic regression of pairs of a prompt's candidates
// with different grades. Each prompt counts the same.
func order(found []FoundTurn) ([]float64, error) {
	var terms, pairs [][]float64
	var weights []float64
	for _, f := range found {
		var of [eval.GradeWanted + 1][][]float64
		for _, c := range f.Candidates {
			of[c.Grade] = append(of[c.Grade], c.Terms)
		}
		if len(of[eval.GradeWanted]) == 0 {
			continue
		}
		for _, c := range f.Candidates {
			terms = append(terms, c.Terms)
		}
		for _, p := range []struct {
			better, worse int
			weight        float64
		}{{eval.GradeWanted, eval.GradeRelated, 1}, {eval.GradeWanted, eval.GradeNoise, 1}, {eval.GradeRelated, eval.GradeNoise, relatedWeight}} {
			for _, a := range of[p.better] {
				for _, b := range of[p.worse] {
					pairs = append(pairs, floats.SubTo(make([]float64, len(a)), a, b))
					weights = append(weights, p.weight/float64(len(of[p.better])*len(of[p.worse])))
				}
			}
		}
	}
	if len(pairs) == 0 {
		return nil, errors.New("want prompts with wanted and with other candidates")
	}
	l := logistic{rows: pairs, right: slices.Repeat([]float64{1}, len(pairs)), weights: weights, ridge: orderRidge * floats.Sum(weights), unbiased: true}
	_, fitted, err := l.solve(deviations(terms))
	return fitted, err
}

// valued is a candidate with its place in the order.
type valued struct {
	FoundCandidate
	value, lead float64
}

// orderedTurn is a prompt with the candidates that a model decides about, best first.
type orderedTurn struct {
	FoundTurn
	ranked []valued
}

func ordered(m *relevance.Turn, found []FoundTurn) (all []orderedTurn) {
	for _, f := range found {
		d := orderedTurn{FoundTurn: f}
		var values []float64
		for _, c := range f.Candidates {
			v := valued{FoundCandidate: c, value: m.Value(c.Terms)}
			values, d.ranked = append(values, v.value), append(d.ranked, v)
		}
		slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(b, a) })
		for i, c := range d.ranked {
			d.ranked[i].lead = relevance.Lead(c.value, values)
		}
		slices.SortStableFunc(d.ranked, func(a, b valued) int { return cmp.Compare(b.value, a.value) })
		d.ranked = slices.DeleteFunc(d.ranked, func(c valued) bool { return c.Refused })
		all = append(all, d)
	}
	return all
}

// regression fits whether the first candidates of each prompt are wanted.
func regression(all []orderedTurn, prior float64, first int, terms func(valued) []float64) (bias float64, weights []float64, err error) {
	l := logistic{ridge: turnRidge}
	for _, d := range all {
		for _, c := range d.ranked[:min(len(d.ranked), first)] {
			l.rows, l.right = append(l.rows, terms(c)), append(l.right, yes(c.Grade == eval.GradeWanted))
			l.given = append(l.given, prior*math.Log1p(float64(d.Earlier)))
		}
	}
	if !slices.Contains(l.right, 1) || !slices.Contains(l.right, 0) {
		return 0, nil, errors.New("want prompts with wanted and with other candidates among the first")
	}
	return l.rising()
}

// earlier returns Turn.Earlier: a logistic regression of the prompts that want something.
func earlier(found []FoundTurn) (float64, error) {
	l := logistic{ridge: turnRidge}
	for _, f := range found {
		l.rows, l.right = append(l.rows, []float64{math.Log1p(float64(f.Earlier))}), append(l.right, yes(!f.Nothing))
	}
	if !slices.Contains(l.right, 1) || !slices.Contains(l.right, 0) {
		return 0, nil
	}
	_, weights, err := l.solve(deviations(l.rows))
	if err != nil {
		return 0, err
	}
	return round(min(weights[0], 0), 3), nil
}

// least returns the smallest Least, in thousandths, that gives the wanted silence.
func least(m *relevance.Turn, all []orderedTurn, silence float64, worth func(valued) float64) (float64, error) {
	var best []float64 // the worth of the best candidate of each prompt that wants nothing
	given := 0
	for _, d := range all {
		switch {
		case !d.Nothing:
			continue
		case d.Given:
			given++
			continue
		}
		most := 0.0
		for _, c := range d.ranked {
			if !c.Sure {
				most = max(most, m.Now(relevance.Query{Earlier: d.Earlier}, worth(c)))
			}
		}
		best = append(best, most)
	}
	prompts := len(best) + given
	quiet := int(math.Ceil(silence * float64(prompts)))
	switch {
	case prompts == 0:
		return 0, errors.New("no prompt wants nothing, so no silence can be chosen")
	case quiet > len(best):
		return 0, fmt.Errorf("silence %g is out of reach: of %d prompts that want nothing, rules and scores give %d something; want a smaller silence",
			silence, prompts, given)
	}
	slices.Sort(best)
	return min(math.Floor(best[quiet-1]*1000+1)/1000, 0.999), nil
}

// A logistic regression.
type logistic struct {
	rows     [][]float64 // terms
	right    []float64   // 1 or 0
	given    []float64   // added to each row's sum; nil for none
	weights  []float64   // of rows; nil is 1 for each
	ridge    float64     // weighs squared coefficients, in a term's deviations
	unbiased bool        // the bias is 0
}

// rising minimises the loss; coefficients below 0 are 0.
func (l logistic) rising() (bias float64, weights []float64, err error) {
	deviation := deviations(l.rows)
	for {
		if bias, weights, err = l.solve(deviation); err != nil {
			return 0, nil, err
		}
		worst, by := -1, 0.0
		for i, w := range weights {
			if against := -w * deviation[i]; w != 0 && against > by {
				worst, by = i, against
			}
		}
		if worst < 0 {
			return bias, weights, nil
		}
		deviation[worst] = math.Inf(1)
	}
}

// solve fits the terms with a finite deviation.
func (l logistic) solve(deviation []float64) (bias float64, weights []float64, err error) {
	loss := func(x, grad []float64) (sum float64) {
		clear(grad)
		for n, row := range l.rows {
			z := x[0]
			if l.given != nil {
				z += l.given[n]
			}
			for i, v := range row {
				z += x[i+1] * v / deviation[i]
			}
			w := 1.0
			if l.weights != nil {
				w = l.weights[n]
			}
			said := 1 / (1 + math.Exp(-z))
			sum -= w * (l.right[n]*math.Log(said+1e-12) + (1-l.right[n])*math.Log(1-said+1e-12))
			if grad == nil {
				continue
			}
			d := w * (said - l.right[n])
			if !l.unbiased {
				grad[0] += d
			}
			for i, v := range row {
				grad[i+1] += d * v / deviation[i]
			}
		}
		for i, c := range x[1:] {
			sum += l.ridge * c * c
			if grad != nil {
				grad[i+1] += 2 * l.ridge * c
			}
		}
		return sum
	}
	x, err := minimise(make([]float64, 1+len(deviation)), 1e-5, loss)
	if err != nil {
		return 0, nil, err
	}
	for i, c := range x[1:] {
		weights = append(weights, c/deviation[i])
	}
	return x[0], weights, nil
}
