package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/optimize"

	"github.com/memcore/memcore/core/relevance"
)

// looked is how many of the best candidates of a question the score is fitted to: what a turn could be given, and
// as many again.
const looked = 16

// importance says how much the questions of a kind count beside the answerable ones: a memory that is asked about
// something else altogether must be silent, while a question that has no answer only because somebody else is
// meant cannot be told from others by any of the evidence.
var importance = map[Kind]float64{Answerable: 1, Unanswerable: 0.3, SmallTalk: 1, Foreign: 2}

// Silence is the share of small talk that has to get nothing: what the threshold is chosen for.
const Silence = 0.95

// Model fits everything: weights, score, calibration, threshold.
func Model(s Sample, o Options) (*relevance.Model, error) {
	questions := s.served(o)
	m, err := Order(questions, o)
	if err != nil {
		return nil, err
	}
	points := pointsOf(questions, m, o)
	if m.Score, err = logistic(points, o); err != nil {
		return nil, err
	}
	m.Calibration = calibration(points, m.Score)
	m.Threshold = threshold(questions, m, o)
	m.Fitted = fmt.Sprintf("%d questions to %s, by memcore eval fit, %s", len(questions), setsOf(questions), time.Now().Format(time.DateOnly))
	return m, nil
}

func setsOf(questions []Question) (names string) {
	var all []string
	for _, q := range questions {
		if !slices.Contains(all, q.Set) {
			all = append(all, q.Set)
		}
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// served are the questions that a model answers: with vectors only those in a script and a language the embedder knows.
func (s Sample) served(o Options) []Question {
	if !o.Vectors {
		return s.Questions
	}
	m := &relevance.Model{Scripts: o.Scripts, Languages: o.Languages}
	return slices.DeleteFunc(slices.Clone(s.Questions), func(q Question) bool {
		return !m.Knows(q.Query.Text) || !m.KnowsLanguage(q.Query.Language)
	})
}

// A point is a candidate as the score sees it.
type point struct {
	behind float64
	best   relevance.Certainty
	right  float64 // 1 if it answers
	weight float64
}

func pointsOf(questions []Question, m *relevance.Model, o Options) []point {
	counts := map[string]float64{}
	group := func(q Question) string { return fmt.Sprintf("%s %d", q.Set, q.Kind) }
	for _, q := range questions {
		counts[group(q)]++
	}
	var points []point
	for _, q := range questions {
		ranked := m.Order(q.query(o), q.Candidates)
		best := relevance.CertaintyOf(q.query(o), ranked)
		if !o.Absolute {
			best.Cosine, best.Both = 0, 0
		}
		for _, r := range ranked[:min(looked, len(ranked))] {
			p := point{behind: r.Sum - ranked[0].Sum, best: best, weight: importance[q.Kind] / counts[group(q)]}
			if q.Relevant[q.unit(r.ID)] > 0 {
				p.right = 1
			}
			points = append(points, p)
		}
	}
	total := 0.0
	for _, p := range points {
		total += p.weight
	}
	for i := range points {
		points[i].weight /= total
	}
	return points
}

func (q Question) unit(id string) string {
	for i, c := range q.Candidates {
		if c.ID == id {
			return q.Units[i]
		}
	}
	return ""
}

// logistic fits the coefficients of the score, none but the bias below 0.
func logistic(points []point, o Options) (relevance.Logistic, error) {
	terms := func(p point) [5]float64 {
		return [5]float64{p.behind, p.best.Cosine, p.best.Both, p.best.Coverage, p.best.Matched}
	}
	result := func(x []float64) relevance.Logistic {
		square := func(i int) float64 { return round(x[i]*x[i], 3) }
		return relevance.Logistic{Bias: round(x[0], 3), Behind: square(1), Cosine: square(2), Both: square(3), Coverage: square(4), Matched: square(5)}
	}
	// Beside Both, Matched alone would let questions about something else through: they share words as well.
	use := [5]bool{true, o.Absolute, o.Absolute, !o.Absolute, !o.Absolute}
	loss := func(x, grad []float64) float64 {
		total := 0.0
		if grad != nil {
			clear(grad)
		}
		for _, p := range points {
			z := x[0]
			t := terms(p)
			for i, v := range t {
				if use[i] {
					z += x[i+1] * x[i+1] * v
				}
			}
			said := 1 / (1 + math.Exp(-z))
			total -= p.weight * (p.right*math.Log(said+1e-12) + (1-p.right)*math.Log(1-said+1e-12))
			if grad != nil {
				d := p.weight * (said - p.right)
				grad[0] += d
				for i, v := range t {
					if use[i] {
						grad[i+1] += d * v * 2 * x[i+1]
					}
				}
			}
		}
		for i := 1; i < len(x); i++ {
			total += 1e-6 * x[i] * x[i] * x[i] * x[i]
			if grad != nil {
				grad[i] += 4e-6 * x[i] * x[i] * x[i]
			}
		}
		return total
	}
	x := []float64{-3, 1, 0.7, 0.7, 0.7, 0.7}
	for i, used := range use {
		if !used {
			x[i+1] = 0
		}
	}
	found, err := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 { return loss(x, nil) },
		Grad: func(grad, x []float64) { loss(x, grad) },
	}, x, &optimize.Settings{GradientThreshold: 1e-7, MajorIterations: 1000}, &optimize.LBFGS{})
	if found == nil {
		return relevance.Logistic{}, fmt.Errorf("fit score: %w", err)
	}
	return result(found.X), nil
}

// calibration makes probabilities honest on the questions that a memory is for: those with an answer, and
// the others as often as there are such in a data set.
func calibration(points []point, s relevance.Logistic) [][2]float64 {
	bare := &relevance.Model{Score: s}
	var said, found, weight []float64
	for _, p := range points {
		said = append(said, bare.Calibrated(p.behind, p.best))
		found = append(found, p.right)
		weight = append(weight, p.weight)
	}
	return polygon(said, found, weight, 0.01)
}

// threshold is the least score at which small talk is silent often enough, all data sets counting the same.
func threshold(questions []Question, m *relevance.Model, o Options) float64 {
	type asked struct{ best, weight float64 }
	counts := map[string]float64{}
	for _, q := range questions {
		if q.Kind == SmallTalk {
			counts[q.Set]++
		}
	}
	var all []asked
	total := 0.0
	for _, q := range questions {
		if q.Kind != SmallTalk {
			continue
		}
		a := asked{weight: 1 / counts[q.Set]}
		if ranked := m.Order(q.query(o), q.Candidates); len(ranked) > 0 {
			best := relevance.CertaintyOf(q.query(o), ranked)
			a.best = m.Calibrated(0, best)
		}
		all = append(all, a)
		total += a.weight
	}
	slices.SortFunc(all, func(a, b asked) int { return cmp.Compare(a.best, b.best) })
	below := 0.0
	for _, a := range all {
		if below += a.weight; below >= Silence*total {
			return min(max(math.Ceil(a.best*1000+0.5)/1000, 0.001), 0.9)
		}
	}
	return 0.5
}
