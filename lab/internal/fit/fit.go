package fit

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/optimize"

	"github.com/memcore/memcore/core/relevance"
)

// Options say how a model is fitted.
type Options struct {
	// Vectors uses cosines.
	Vectors bool
	// Absolute compares cosines, as for one embedder.
	Absolute bool
	// Scripts are those that the embedder knows; other questions use keywords.
	Scripts []string
	// Languages are those that it knows (ISO 639-1).
	Languages []string
	// Across fits questions to chunks in another language apart.
	Across bool
	// Toward draws the weights of chats to the common ones: it weighs squared differences, in a
	// term's deviations. 0 takes the first of Strengths.
	Toward float64

	spread float64 // relevance.Model.Spread
}

// shrink weighs squared coefficients, in a term's deviations.
const shrink = 1e-3

// Strengths are those of Options.Toward that Choose tries.
var Strengths = []float64{0.003, 0.01, 0.03, 0.1, 0.3}

// Order fits weights for all questions, and for kinds of memory. Those of chats are drawn to the
// common ones: what one source of a kind shows may be a habit of its authors.
func Order(questions []Question, o Options) (*relevance.Model, error) {
	o.spread = spread(questions, o)
	m := &relevance.Model{Scripts: o.Scripts, Languages: o.Languages, Spread: o.spread, Threshold: 0.5}
	var err error
	if m.Weights, err = Weights(questions, o, nil); err != nil {
		return nil, err
	}
	for _, kind := range relevance.Kinds {
		var some []Question
		for _, q := range questions {
			if q.answeredBy(kind) {
				some = append(some, q)
			}
		}
		if len(some) < enough {
			continue
		}
		if m.Kinds == nil {
			m.Kinds = map[string]map[string]float64{}
		}
		if kind == relevance.KindDocuments {
			m.Kinds[kind], err = plainSum(some, o)
		} else {
			m.Kinds[kind], err = Weights(some, o, m.Weights)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
	}
	for _, weights := range append(slices.Collect(maps.Values(m.Kinds)), m.Weights) {
		maps.DeleteFunc(weights, func(name string, w float64) bool { return round(w, 3) == 0 })
		for name, w := range weights {
			weights[name] = round(w, 3)
		}
	}
	return m, nil
}

// enough questions are needed for a kind.
const enough = 100

// spread returns the mean distance of the nearest cosine from chance; 0 if cosines are not
// comparable.
func spread(questions []Question, o Options) float64 {
	if !o.Absolute {
		return 0
	}
	sum, n := 0.0, 0
	for _, q := range questions {
		if q.Kind != Answerable || !q.query(o).Vectors {
			continue
		}
		var cosines []float64
		for _, c := range q.Candidates {
			if c.Cosine != nil {
				cosines = append(cosines, *c.Cosine)
			}
		}
		if len(cosines) < relevance.Near {
			continue
		}
		slices.SortFunc(cosines, func(a, b float64) int { return cmp.Compare(b, a) })
		sum, n = sum+cosines[0]-cosines[relevance.Near-1], n+1
	}
	if n == 0 {
		return 0
	}
	return round(sum/float64(n), 3)
}

// answeredBy reports whether a candidate of the kind answers.
func (q Question) answeredBy(kind string) bool {
	for i, c := range q.Candidates {
		if q.Relevant[q.Units[i]] > 0 && relevance.KindOf(c) == kind {
			return true
		}
	}
	return false
}

// Weights maximises the probability that a relevant chunk comes first: a softmax over candidates,
// with each relevant document's best chunk. Sets count alike. common, unless nil, are weights that
// these are drawn to; a term that says nothing in these questions keeps its weight of them.
func Weights(questions []Question, o Options, common map[string]float64) (map[string]float64, error) {
	p := newListwise(questions, o)
	if len(p.questions) == 0 {
		return nil, fmt.Errorf("fit: none of %d questions has an answer among its candidates", len(questions))
	}
	if common != nil {
		p.toward(common, cmp.Or(o.Toward, Strengths[0]))
	}
	found, err := p.minimise()
	if err != nil {
		return nil, err
	}
	weights := map[string]float64{}
	for i, n := range p.columns {
		name := relevance.Names[n]
		if weights[name] = found[i] / p.deviation[i]; math.IsInf(p.deviation[i], 1) {
			weights[name] = common[name]
		}
	}
	return weights, nil
}

// plain are the weights of documents. Fitted ones did worse on other sets, drawn to the common ones
// or not. A cosine counts by its embedder's spread, so embedders whose cosines are near each other
// count as much.
var plain = map[string]float64{"keywords": 0.2, "document": 0.15, "coverage": 0.3, "cosine": 0.28}

// aloneDocument is the weight of the document in plain without cosines.
const aloneDocument = 0.3

// plainSum fits the scale of plain.
func plainSum(questions []Question, o Options) (map[string]float64, error) {
	sum := maps.Clone(plain)
	if !o.Vectors {
		delete(sum, "cosine")
		sum["document"] = aloneDocument
	}
	sum, err := scaled(sum, questions, o)
	if err == nil {
		sum["time"] = documentTime
	}
	return sum, err
}

// documentTime is set by hand: no set asks for times. It is below that of chats.
const documentTime = 1.5

// plainAcross are the weights of questions to texts in another language, of which words say little:
// names and numbers. Fitted ones put fewer answers first.
var plainAcross = map[string]float64{"cosine": 1, "coverage": 0.6}

// orderAcross is Order for questions to texts in another language.
func orderAcross(questions []Question, o Options) (*relevance.Model, error) {
	o.spread = spread(questions, o)
	weights, err := scaled(maps.Clone(plainAcross), questions, o)
	if err != nil {
		return nil, err
	}
	for name, w := range weights {
		weights[name] = round(w, 3)
	}
	return &relevance.Model{Spread: o.spread, Weights: weights, Threshold: 0.5}, nil
}

// scaled multiplies the weights of a sum by one number, fitted as Weights are.
func scaled(sum map[string]float64, questions []Question, o Options) (map[string]float64, error) {
	p := newListwise(questions, o)
	if len(p.questions) == 0 {
		return nil, fmt.Errorf("fit: none of %d questions has an answer among its candidates", len(questions))
	}
	for _, q := range p.questions {
		for c, row := range q.terms {
			total := 0.0
			for i, n := range p.columns {
				if w := sum[relevance.Names[n]]; w != 0 && row[i] != 0 {
					total += w * row[i] * p.deviation[i]
				}
			}
			q.terms[c] = []float64{total}
		}
	}
	p.columns, p.positive = p.columns[:1], []bool{true}
	p.standardise()
	p.target = make([]float64, 1)
	scale, err := p.minimise()
	if err != nil {
		return nil, err
	}
	for name := range sum {
		sum[name] *= scale[0] / p.deviation[0]
	}
	return sum, nil
}

// minimise returns the x with the least loss. loss sets grad unless it is nil.
func (p *listwise) minimise() ([]float64, error) {
	x := make([]float64, len(p.columns))
	for i := range x {
		x[i] = start
	}
	x, err := minimise(x, 1e-6, p.loss)
	if err != nil {
		return nil, fmt.Errorf("fit weights: %w", err)
	}
	for i := range x {
		x[i], _ = p.value(i, x[i])
	}
	return x, nil
}

// minimise returns the x with the least loss, up to a gradient. loss sets grad if it is not nil.
func minimise(start []float64, gradient float64, loss func(x, grad []float64) float64) ([]float64, error) {
	found, err := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 { return loss(x, nil) },
		Grad: func(grad, x []float64) { loss(x, grad) },
	}, start, &optimize.Settings{GradientThreshold: gradient, MajorIterations: 500}, &optimize.LBFGS{})
	if found == nil {
		return nil, err
	}
	return found.X, nil
}

// start is a coefficient's first value. The search uses roots of positive ones, inverse hyperbolic
// tangents of bounded ones.
const start = 0.3

// listwise is the problem of Weights.
type listwise struct {
	columns   []int     // of relevance.Names
	positive  []bool    // by column
	deviation []float64 // of the term of a column, in all questions
	target    []float64 // of the coefficients, by column
	strength  float64   // of squared distances from target
	questions []listed
}

type listed struct {
	weight  float64
	terms   [][]float64 // by candidate and column, in deviations
	answers [][]int     // by document that answers, its candidates
}

func newListwise(questions []Question, o Options) *listwise {
	p := &listwise{strength: shrink}
	for n, name := range relevance.Names {
		if o.Vectors || !isCosine(name) {
			p.columns = append(p.columns, n)
			p.positive = append(p.positive, relevance.IsEvidence(name))
		}
	}
	counts := map[string]float64{}
	var sets []string
	for _, q := range questions {
		answers := q.answers()
		if len(answers) == 0 {
			continue
		}
		l := listed{answers: answers}
		for _, e := range relevance.Evidence(q.query(o), q.Candidates) {
			row := make([]float64, len(p.columns))
			for i, n := range p.columns {
				row[i] = e[n]
			}
			l.terms = append(l.terms, row)
		}
		p.questions, sets = append(p.questions, l), append(sets, q.Set)
		counts[q.Set]++
	}
	for i := range p.questions {
		p.questions[i].weight = 1 / counts[sets[i]] / float64(len(counts))
	}
	p.standardise()
	p.target = make([]float64, len(p.columns))
	return p
}

// toward draws the coefficients to those of weights.
func (p *listwise) toward(weights map[string]float64, strength float64) {
	p.strength = strength
	for i, n := range p.columns {
		if !math.IsInf(p.deviation[i], 1) {
			p.target[i] = weights[relevance.Names[n]] * p.deviation[i]
		}
	}
}

func isCosine(name string) bool {
	return name == "cosine" || name == "documentCosine" || name == "beforeCosine"
}

// query returns the query as the options show it to a model.
func (q Question) query(o Options) relevance.Query {
	query := q.Query
	query.Vectors = query.Vectors && o.Vectors
	query.Spread = o.spread
	return query
}

// answers returns the candidates of each answering document.
func (q Question) answers() [][]int {
	place := map[string]int{}
	var all [][]int
	for i, unit := range q.Units {
		if q.Relevant[unit] <= 0 {
			continue
		}
		at, ok := place[unit]
		if !ok {
			at = len(all)
			place[unit] = at
			all = append(all, nil)
		}
		all[at] = append(all[at], i)
	}
	return all
}

func (p *listwise) standardise() {
	p.deviation = make([]float64, len(p.columns))
	for i := range p.columns {
		var n, sum, squares float64
		for _, q := range p.questions {
			for _, row := range q.terms {
				n++
				sum += row[i]
				squares += row[i] * row[i]
			}
		}
		p.deviation[i] = math.Sqrt(max(squares/n-sum/n*sum/n, 0))
		if p.deviation[i] < 1e-6 {
			p.deviation[i] = math.Inf(1) // a term that says nothing here gets no weight
		}
		for _, q := range p.questions {
			for _, row := range q.terms {
				row[i] /= p.deviation[i]
			}
		}
	}
}

// most bounds the weight of a property, which may be a habit of a set's authors. A larger bound
// gains on LongMemEval and loses on BEAM, which is for testing.
const most = 3

// value returns the coefficient for x, and its derivative.
func (p *listwise) value(i int, x float64) (value, derivative float64) {
	if p.positive[i] {
		return x * x, 2 * x
	}
	if math.IsInf(p.deviation[i], 1) {
		return 0, 0
	}
	t := math.Tanh(x)
	return most * p.deviation[i] * t, most * p.deviation[i] * (1 - t*t)
}

// loss returns the mean negative log probability of answers. It sets grad unless nil.
func (p *listwise) loss(x, grad []float64) float64 {
	w, derivative := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		w[i], derivative[i] = p.value(i, x[i])
	}
	g := make([]float64, len(x))
	total := 0.0
	for _, q := range p.questions {
		sums := make([]float64, len(q.terms))
		for c, row := range q.terms {
			for i, v := range row {
				sums[c] += w[i] * v
			}
		}
		all := softmax(sums, nil)
		total += q.weight * all.log
		for c, row := range q.terms {
			addScaled(g, row, q.weight*all.share[c])
		}
		for _, document := range q.answers {
			right := softmax(sums, document)
			share := q.weight / float64(len(q.answers))
			total -= share * right.log
			for n, c := range document {
				addScaled(g, q.terms[c], -share*right.share[n])
			}
		}
	}
	for i := range w {
		off := w[i] - p.target[i]
		total += p.strength * off * off
		g[i] += 2 * p.strength * off
		if grad != nil {
			grad[i] = g[i] * derivative[i]
		}
	}
	return total
}

type shares struct {
	log   float64 // of the sum of the exponentials
	share []float64
}

// softmax covers the chosen values, all if chosen is nil.
func softmax(values []float64, chosen []int) shares {
	at := func(i int) float64 { return values[i] }
	n := len(values)
	if chosen != nil {
		at, n = func(i int) float64 { return values[chosen[i]] }, len(chosen)
	}
	highest := math.Inf(-1)
	for i := range n {
		highest = max(highest, at(i))
	}
	s := shares{share: make([]float64, n)}
	sum := 0.0
	for i := range n {
		s.share[i] = math.Exp(at(i) - highest)
		sum += s.share[i]
	}
	for i := range s.share {
		s.share[i] /= sum
	}
	s.log = highest + math.Log(sum)
	return s
}

func addScaled(to, from []float64, by float64) {
	for i, v := range from {
		to[i] += by * v
	}
}

// polygon fits a rising step function (isotonic regression by pooling adjacent violators) and
// returns the middle of each step. It joins steps of little weight.
func polygon(said, found, weight []float64, enough float64) [][2]float64 {
	order := make([]int, len(said))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return said[order[a]] < said[order[b]] })
	type step struct{ x, y, weight float64 }
	var steps []step
	pool := func(a, b step) step {
		w := a.weight + b.weight
		return step{(a.x*a.weight + b.x*b.weight) / w, (a.y*a.weight + b.y*b.weight) / w, w}
	}
	for _, i := range order {
		s := step{said[i], found[i], weight[i]}
		for len(steps) > 0 && (steps[len(steps)-1].y >= s.y || steps[len(steps)-1].weight < enough) {
			s = pool(steps[len(steps)-1], s)
			steps = steps[:len(steps)-1]
		}
		steps = append(steps, s)
	}
	var points [][2]float64
	for _, s := range steps {
		x, y := round(s.x, 4), round(s.y, 4)
		if x <= 0 || x >= 1 || y <= 0 || y >= 1 || len(points) > 0 && (points[len(points)-1][0] >= x || points[len(points)-1][1] >= y) {
			continue
		}
		points = append(points, [2]float64{x, y})
	}
	return points
}

func round(x float64, digits int) float64 {
	scale := math.Pow(10, float64(digits))
	return math.Round(x*scale) / scale
}
