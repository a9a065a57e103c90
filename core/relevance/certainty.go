package relevance

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Certainty is the evidence that memory knows the answer. More evidence for a chunk does not
// lower its score. The terms mean the same in memories of any size.
type Certainty struct {
	Cosine      float64 // the best
	Clear       float64 // the best cosine less the tenth
	Share       float64 // of the weight of the question's words, the best that one chunk holds
	Mass        float64 // ln(1 + the weight of words that one chunk holds), the best
	MassClear   float64 // the best weight less the fifth
	CosineShare float64 // the best of cosine · share of one chunk
	CosineMass  float64 // the best of cosine · mass of one chunk

	UnknownNames   float64 // share of the names in the question that memory holds nowhere
	UnknownNumbers float64 // how many numbers of it, at most 2
}

const (
	clearPlace = 10 // the candidate whose cosine stands for chance
	maxClear   = 0.3
	alone      = 0.2 // Clear of the only candidate
	massPlace  = 5
	maxUnknown = 2
)

func CertaintyOf(q Query, ranked []Ranked) Certainty {
	var best Certainty
	held := holdings(q, ranked)
	var cosines, masses []float64
	for i, r := range ranked {
		mass := math.Log1p(held[i].mass)
		masses = append(masses, held[i].mass)
		best.Share = max(best.Share, held[i].share)
		best.Mass = max(best.Mass, mass)
		if cosine, ok := cosineOf(q, r.Candidate); ok {
			cosines = append(cosines, cosine)
			best.CosineShare = max(best.CosineShare, cosine*held[i].share)
			best.CosineMass = max(best.CosineMass, cosine*mass)
		}
	}
	descending(cosines)
	descending(masses)
	switch n := len(cosines); {
	case n == 1:
		best.Cosine, best.Clear = max(cosines[0], 0), alone
	case n > 1:
		best.Cosine, best.Clear = max(cosines[0], 0), min(cosines[0]-cosines[min(clearPlace, n)-1], maxClear)
	}
	if n := len(masses); n > 0 {
		best.MassClear = masses[0] - masses[min(massPlace, n)-1]
	}
	best.UnknownNames, best.UnknownNumbers = unknown(q)
	return best
}

func descending(all []float64) {
	slices.SortFunc(all, func(a, b float64) int { return cmp.Compare(b, a) })
}

func cosineOf(q Query, c Candidate) (float64, bool) {
	if !q.Vectors || c.Cosine == nil {
		return 0, false
	}
	return *c.Cosine, true
}

// Why describes which words of a question memory holds, and which it lacks. written tells of a word
// that no chunk has whether it is part of another word there.
func (m *Model) Why(q Query, candidates []Candidate, written func(word string) bool) string {
	serving := m.serving(&q)
	best := CertaintyOf(q, serving.Order(q, candidates))
	var parts []string
	if q.Vectors {
		parts = append(parts, fmt.Sprintf("the nearest has cosine %.2f, %.2f more than what is near by chance", best.Cosine, best.Clear))
	}
	parts = append(parts, fmt.Sprintf("one chunk holds %.0f %% of what the question's words say", 100*best.Share))
	var missing []string
	for _, w := range q.Words {
		if w.Records == 0 && !w.Compound && !written(w.Text) {
			missing = append(missing, w.Text)
		}
	}
	if len(missing) > maxMissing {
		missing = append(missing[:maxMissing], "…")
	}
	if len(missing) > 0 {
		parts = append(parts, "not in any chunk: "+strings.Join(missing, ", "))
	}
	return strings.Join(parts, "; ")
}

// maxMissing is how many words Why names.
const maxMissing = 6

// A Distance from the first candidate is 0 or less.
type Distance struct {
	Sum    float64
	Cosine float64
	Share  float64 // of the weight of the question's words
}

// Distances are in the order of ranked.
func Distances(q Query, ranked []Ranked) []Distance {
	all := make([]Distance, len(ranked))
	held := holdings(q, ranked)
	for i, r := range ranked {
		all[i] = Distance{Sum: r.Sum - ranked[0].Sum, Share: min(held[i].share-held[0].share, 0)}
		first, ok := cosineOf(q, ranked[0].Candidate)
		if cosine, also := cosineOf(q, r.Candidate); ok && also {
			all[i].Cosine = min(cosine-first, 0)
		}
	}
	return all
}

// Knows returns the log-odds that memory knows the answer.
func (l Logistic) Knows(best Certainty) float64 {
	x := l.Bias
	for i, coefficient := range l.coefficients() {
		x += coefficient * best.terms()[i]
	}
	return x
}

// terms are in the order of Logistic.coefficients, evidence against as negative.
func (c Certainty) terms() [9]float64 {
	return [9]float64{c.Cosine, c.Clear, c.Share, c.Mass, c.MassClear, c.CosineShare, c.CosineMass, -c.UnknownNames, -c.UnknownNumbers}
}

// Cost is the least worth of a further hit: its score times the probability that no earlier one
// helps. It falls in large memories.
func Cost(chunks int) float64 {
	return min(max(costOfAll/float64(max(chunks, 1)), minCost), maxCost)
}

const (
	costOfAll = 5.0
	minCost   = 0.005
	maxCost   = 0.08
)
