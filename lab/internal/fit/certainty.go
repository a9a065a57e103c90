package fit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/memcore/memcore/core/relevance"
)

// looked candidates are used, as in a turn.
const looked = 16

// importance weighs questions. A set's unanswerable ones look like others.
var importance = map[Kind]float64{Answerable: 1, Unanswerable: 0.1, SmallTalk: 0.5, Foreign: 1.2, Sister: 1.2}

// Empty is the share of answerable questions that get nothing at the threshold. Of those to texts
// in another language it is EmptyAcross: nearness alone tells them apart from others less well.
const (
	Empty       = 0.06
	EmptyAcross = 0.25
)

// Model fits a whole model: weights, score and threshold.
func Model(s Sample, o Options) (*relevance.Model, error) {
	questions := s.served(o)
	if !o.Across {
		return model(questions, Order, Empty, o)
	}
	m, err := model(slices.DeleteFunc(slices.Clone(questions), func(q Question) bool { return q.Query.Across }), Order, Empty, o)
	if err != nil {
		return nil, err
	}
	across := slices.DeleteFunc(slices.Clone(questions), func(q Question) bool { return !q.Query.Across || q.Mixed })
	if m.Across, err = model(across, orderAcross, EmptyAcross, o); err != nil {
		return nil, fmt.Errorf("questions in another language: %w", err)
	}
	return m, nil
}

// model orders by what order fits, and fits the score.
func model(questions []Question, order func([]Question, Options) (*relevance.Model, error), empty float64, o Options) (*relevance.Model, error) {
	m, err := order(whole(questions), o)
	if err != nil {
		return nil, err
	}
	m.Threshold = 0.5
	m.Fitted = fmt.Sprintf("%d questions to %s, by lab/fit, %s", len(questions), setsOf(questions), time.Now().Format(time.DateOnly))
	return m, score(m, judge(questions, m, o), empty, o)
}

// whole returns the questions to whole collections. The others add nothing about the order.
func whole(questions []Question) []Question {
	return slices.DeleteFunc(slices.Clone(questions), func(q Question) bool { return q.Mixed })
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

// served returns the questions that a model answers.
func (s Sample) served(o Options) []Question {
	if !o.Vectors {
		return s.Questions
	}
	m := &relevance.Model{Scripts: o.Scripts, Languages: o.Languages}
	return slices.DeleteFunc(slices.Clone(s.Questions), func(q Question) bool {
		return !m.Knows(q.Query.Text) || !m.KnowsLanguage(q.Query.Language)
	})
}

// A judged question has the evidence of its score.
type judged struct {
	set       string
	kind      Kind
	best      relevance.Certainty
	distances []relevance.Distance // of the first candidates
	right     []bool
	weight    float64
}

// found reports whether a candidate answers.
func (j judged) found() bool { return slices.Contains(j.right, true) }

func judge(questions []Question, m *relevance.Model, o Options) []judged {
	var all []judged
	for _, q := range questions {
		ranked := m.Order(q.query(o), q.Candidates)
		j := judged{set: q.Set, kind: q.Kind, best: relevance.CertaintyOf(q.query(o), ranked)}
		ranked = ranked[:min(looked, len(ranked))]
		j.distances = relevance.Distances(q.query(o), ranked)
		for _, r := range ranked {
			j.right = append(j.right, q.Relevant[q.unit(r.ID)] > 0)
		}
		all = append(all, j)
	}
	return weighed(all)
}

// weighed gives each kind of a set its importance.
func weighed(all []judged) []judged {
	type group struct {
		set  string
		kind Kind
	}
	counts := map[group]float64{}
	for _, j := range all {
		counts[group{j.set, j.kind}]++
	}
	for i, j := range all {
		all[i].weight = importance[j.kind] / counts[group{j.set, j.kind}]
	}
	return all
}

func (q Question) unit(id string) string {
	for i, c := range q.Candidates {
		if c.ID == id {
			return q.Units[i]
		}
	}
	return ""
}

// score fits certainty, distances, calibration and threshold.
func score(m *relevance.Model, questions []judged, empty float64, o Options) error {
	var err error
	if m.Score, err = knowing(questions, o); err != nil {
		return err
	}
	if err = distance(&m.Score, questions, o); err != nil {
		return err
	}
	m.Calibration = calibration(questions, m.Score)
	m.Threshold = threshold(questions, m, empty)
	return nil
}

// knowing fits the certainty: questions with a found answer against all others.
func knowing(questions []judged, o Options) (relevance.Logistic, error) {
	var p problem
	for _, q := range questions {
		if q.kind == Answerable && !q.found() {
			continue
		}
		b := q.best
		p.add(q.weight, q.kind == Answerable, b.Clear*yes(o.Vectors), b.Share, b.Mass, b.MassClear, -b.UnknownNames, -b.UnknownNumbers,
			b.Cosine*yes(o.Absolute), b.CosineShare*yes(o.Absolute), b.CosineMass*yes(o.Absolute))
	}
	bias, c, err := p.solve(3e-3)
	if err != nil {
		return relevance.Logistic{}, fmt.Errorf("fit score: %w", err)
	}
	return relevance.Logistic{Bias: bias, Clear: c[0], Share: c[1], Mass: c[2], MassClear: c[3], UnknownNames: c[4], UnknownNumbers: c[5],
		Cosine: c[6], CosineShare: c[7], CosineMass: c[8]}, nil
}

// distance fits the weights of distances from the first candidate.
func distance(l *relevance.Logistic, questions []judged, o Options) error {
	var p problem
	for _, q := range questions {
		knows := l.Knows(q.best)
		for i, d := range q.distances {
			p.add(q.weight, q.right[i], knows, d.Sum, d.Share, d.Cosine*yes(o.Absolute))
		}
	}
	_, c, err := p.solve(2e-5)
	if err != nil {
		return fmt.Errorf("fit distance: %w", err)
	}
	if c[0] < 1e-3 {
		return fmt.Errorf("fit distance: the certainty of questions says nothing about their candidates")
	}
	l.Behind, l.ShareBehind, l.CosineBehind = round(c[1]/c[0], 3), round(c[2]/c[0], 3), round(c[3]/c[0], 3)
	return nil
}

func yes(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// A problem is a logistic regression whose coefficients are at least 0.
type problem struct {
	rows   [][]float64
	right  []float64
	weight []float64
}

func (p *problem) add(weight float64, right bool, terms ...float64) {
	p.rows, p.right, p.weight = append(p.rows, terms), append(p.right, yes(right)), append(p.weight, weight)
}

// solve minimises loss plus ridge times squared coefficients, in units of deviation.
func (p *problem) solve(ridge float64) (bias float64, coefficients []float64, err error) {
	if len(p.rows) == 0 {
		return 0, nil, fmt.Errorf("no question to learn from")
	}
	deviation, total := deviations(p.rows), 0.0
	for _, w := range p.weight {
		total += w
	}
	loss := func(x, grad []float64) (sum float64) {
		clear(grad)
		for n, row := range p.rows {
			z := x[0]
			for i, v := range row {
				z += x[i+1] * x[i+1] * v / deviation[i]
			}
			said, w := 1/(1+math.Exp(-z)), p.weight[n]/total
			sum -= w * (p.right[n]*math.Log(said+1e-12) + (1-p.right[n])*math.Log(1-said+1e-12))
			if grad == nil {
				continue
			}
			d := w * (said - p.right[n])
			grad[0] += d
			for i, v := range row {
				grad[i+1] += d * 2 * x[i+1] * v / deviation[i]
			}
		}
		for i := 1; i < len(x); i++ {
			sum += ridge * x[i] * x[i] * x[i] * x[i]
			if grad != nil {
				grad[i] += 4 * ridge * x[i] * x[i] * x[i]
			}
		}
		return sum
	}
	x := make([]float64, 1+len(deviation))
	x[0] = -1
	for i := range deviation {
		x[i+1] = start
	}
	if x, err = minimise(x, 1e-6, loss); err != nil {
		return 0, nil, err
	}
	for i, x := range x[1:] {
		coefficients = append(coefficients, round(x*x/deviation[i], 3))
	}
	return round(x[0], 3), coefficients, nil
}

// deviations returns the deviation of each column, infinite for constant ones, to give them no
// weight.
func deviations(rows [][]float64) []float64 {
	all := make([]float64, len(rows[0]))
	for i := range all {
		var sum, squares float64
		for _, row := range rows {
			sum, squares = sum+row[i], squares+row[i]*row[i]
		}
		n := float64(len(rows))
		if all[i] = math.Sqrt(max(squares/n-sum/n*sum/n, 0)); all[i] < 1e-6 {
			all[i] = math.Inf(1)
		}
	}
	return all
}

// calibration returns the observed probabilities of predicted ones.
func calibration(questions []judged, l relevance.Logistic) [][2]float64 {
	bare := &relevance.Model{Score: l}
	var said, found, weight []float64
	total := 0.0
	for _, q := range questions {
		least := 1.0
		for i, d := range q.distances {
			least = min(least, bare.Calibrated(q.best, d))
			said, found, weight = append(said, least), append(found, yes(q.right[i])), append(weight, q.weight)
			total += q.weight
		}
	}
	for i := range weight {
		weight[i] /= total
	}
	return polygon(said, found, weight, 0.01)
}

// threshold returns the greatest score that leaves at most a share of the answerable questions
// empty. Sets count alike.
func threshold(questions []judged, m *relevance.Model, empty float64) float64 {
	type asked struct{ best, weight float64 }
	var all []asked
	total := 0.0
	for _, q := range questions {
		if q.kind == Answerable && len(q.distances) > 0 {
			all = append(all, asked{m.Calibrated(q.best, q.distances[0]), q.weight})
			total += q.weight
		}
	}
	slices.SortFunc(all, func(a, b asked) int { return cmp.Compare(a.best, b.best) })
	below := 0.0
	for _, a := range all {
		if below += a.weight; below > empty*total {
			return min(max(math.Floor(a.best*1e4)/1e4, 1e-4), 0.9)
		}
	}
	return 0.5
}
