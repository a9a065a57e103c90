package fit

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
)

const (
	// turnCandidates is how many candidates of a prompt are used.
	turnCandidates = 8
	// turnRidge weighs squared coefficients, in a term's deviations.
	turnRidge = 10
)

// turnSigns fixes signs of weights: exceptions are too few to learn from.
var turnSigns = map[string]float64{"held": 1, "finding": 1}

// Turns fits a Turn model: a logistic regression of wanted candidates. Least silences at least the
// share silence of prompts that want nothing. Scores decide teammates' questions.
func Turns(found []eval.FoundTurn, silence float64) (*relevance.Turn, error) {
	if !(silence > 0 && silence < 1) {
		return nil, fmt.Errorf("fit turns: silence is %g, want it between 0 and 1", silence)
	}
	found = slices.DeleteFunc(slices.Clone(found), func(f eval.FoundTurn) bool { return f.Kind == eval.KindTeamQuestion })
	prior, err := earlier(found)
	if err != nil {
		return nil, fmt.Errorf("fit turns: %w", err)
	}
	var l logistic
	for _, f := range found {
		for _, c := range f.Candidates[:min(len(f.Candidates), turnCandidates)] {
			l.rows, l.right = append(l.rows, c.Terms), append(l.right, yes(c.Grade == eval.GradeWanted))
			l.given = append(l.given, prior*math.Log1p(float64(f.Earlier)))
		}
	}
	if !slices.Contains(l.right, 1) || !slices.Contains(l.right, 0) {
		return nil, errors.New("fit turns: want prompts with wanted and with other candidates among the first")
	}
	bias, weights, err := l.signed()
	if err != nil {
		return nil, fmt.Errorf("fit turns: %w", err)
	}
	m := &relevance.Turn{Bias: round(bias, 3), Earlier: prior, Weights: map[string]float64{}}
	for i, name := range relevance.TurnNames {
		if w := round(weights[i], 3); w != 0 {
			m.Weights[name] = w
		}
	}
	m.Least, err = least(m, found, silence)
	return m, err
}

// earlier returns Turn.Earlier: a logistic regression of the prompts that want something.
func earlier(found []eval.FoundTurn) (float64, error) {
	var l logistic
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
func least(m *relevance.Turn, found []eval.FoundTurn, silence float64) (float64, error) {
	var best []float64 // the worth of the best candidate of each prompt that wants nothing
	given := 0
	for _, f := range found {
		switch {
		case !f.Nothing:
			continue
		case f.Given:
			given++
			continue
		}
		most := 0.0
		for _, c := range f.Candidates {
			if !c.Sure {
				most = max(most, m.Now(relevance.Query{Earlier: f.Earlier}, m.Worth(c.Terms)))
			}
		}
		best = append(best, most)
	}
	all := len(best) + given
	quiet := int(math.Ceil(silence * float64(all)))
	switch {
	case all == 0:
		return 0, errors.New("fit turns: no prompt wants nothing, so no silence can be chosen")
	case quiet > len(best):
		return 0, fmt.Errorf("fit turns: silence %g is out of reach: of %d prompts that want nothing, rules and scores give %d something; want a smaller silence",
			silence, all, given)
	}
	slices.Sort(best)
	return min(math.Floor(best[quiet-1]*1000+1)/1000, 0.999), nil
}

// A logistic regression.
type logistic struct {
	rows  [][]float64 // terms
	right []float64   // 1 or 0
	given []float64   // added to each row's sum; nil for none
}

// signed minimises the loss; coefficients with a wrong sign (turnSigns) are 0.
func (l logistic) signed() (bias float64, weights []float64, err error) {
	deviation := deviations(l.rows)
	for {
		if bias, weights, err = l.solve(deviation); err != nil {
			return 0, nil, err
		}
		worst, by := -1, 0.0
		for i, name := range relevance.TurnNames {
			if against := -turnSigns[name] * weights[i] * deviation[i]; weights[i] != 0 && against > by {
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
			said := 1 / (1 + math.Exp(-z))
			sum -= l.right[n]*math.Log(said+1e-12) + (1-l.right[n])*math.Log(1-said+1e-12)
			if grad == nil {
				continue
			}
			d := said - l.right[n]
			grad[0] += d
			for i, v := range row {
				grad[i+1] += d * v / deviation[i]
			}
		}
		for i, c := range x[1:] {
			sum += turnRidge * c * c
			if grad != nil {
				grad[i+1] += 2 * turnRidge * c
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
