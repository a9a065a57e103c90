package core

import (
	"cmp"
	"math"
	"slices"
)

// How evidence becomes a score.
//
// Ranking inside one query is a weighted sum, cosine + keywordWeight·BM25/best BM25, which beats
// reciprocal-rank fusion on every set it was measured on (docs/benchmarks.md). What an agent needs
// is not only an order but to know when nothing fits: so the sum goes through a logistic function
// together with what the query as a whole tells: how much of it the best match accounts for. These
// terms are equal for all candidates of a query, so the order stays that of the sum.
type calibration struct {
	keywordWeight float64 // of BM25 ÷ best BM25 beside a cosine
	bias          float64
	fused         float64 // per unit of the weighted sum
	coverage      float64 // per unit of best BM25 ÷ ceiling
}

var (
	// withVectors was fitted for all-MiniLM-L6-v2, see docs/benchmarks.md.
	withVectors = calibration{keywordWeight: 0.5, bias: -6.5, fused: 5.5, coverage: 4}
	// keywordsAlone serves when there is no vector to compare with.
	keywordsAlone = calibration{keywordWeight: 1, bias: -4.5, fused: 2, coverage: 7}
)

// defaultThreshold is the score from which on a hit is worth a place in the prompt.
const defaultThreshold = 0.5

// unknownCosine stands for the similarity of a chunk that has no vector yet beside others that have
// one: about that of two unrelated texts.
const unknownCosine = 0.1

// A scored candidate is one with its relevance.
type scored struct {
	candidate
	normalised float64 // BM25 ÷ best BM25
	hitShare   float64 // BM25 ÷ ceiling
	fused      float64
	score      float64
	verdict    string
}

// rank scores all candidates and sorts them, best first.
func rank(g gathered) []scored {
	best := 0.0
	for _, c := range g.candidates {
		best = max(best, c.bm25)
	}
	fit := keywordsAlone
	if g.byVectors {
		fit = withVectors
	}
	all := make([]scored, len(g.candidates))
	for i, c := range g.candidates {
		all[i] = fit.apply(c, best, g.ceiling, g.byVectors)
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.fused, a.fused), cmp.Compare(a.record.ID, b.record.ID))
	})
	return all
}

func (f calibration) apply(c candidate, best, ceiling float64, byVectors bool) scored {
	s := scored{candidate: c, normalised: share(c.bm25, best), hitShare: share(c.bm25, ceiling)}
	s.fused = f.keywordWeight * s.normalised
	if byVectors {
		cosine := unknownCosine
		if c.cosine != nil {
			cosine = *c.cosine
		}
		s.fused += cosine
	}
	s.score = logistic(f.bias + f.fused*s.fused + f.coverage*share(best, ceiling))
	return s
}

func share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(part/whole, 1)
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
