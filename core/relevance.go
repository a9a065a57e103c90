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
	// withVectors was fitted on 2026-11-21 for all-MiniLM-L6-v2: logistic regression of "this candidate
	// answers" on the 20 best candidates of every query of six LoCoMo chats, of their unanswerable
	// queries, of 30 lines of small talk and of 50 questions about the other chats. The weight of BM25
	// has its best recall at 5 there, flat from 0.5 to 0.8. The score is about the share of candidates
	// with that score that answer: 0.03 said, 0.03 found; 0.07, 0.07; 0.25, 0.26; above 0.5 it says too
	// much. To measure again: make bench-retrieval; figures in docs/benchmarks.md.
	withVectors = calibration{keywordWeight: 0.5, bias: -10.1, fused: 7.5, coverage: 1.7}
	// keywordsAlone serves when there is no vector to compare with. Fitted on the same queries, small
	// talk and foreign questions counted sixfold: shared words alone tell so little that it has to
	// doubt more.
	keywordsAlone = calibration{keywordWeight: 1, bias: -9.08, fused: 4.94, coverage: 4.79}
)

// defaultThreshold is the score from which on a hit is worth a place in the prompt. It looks low
// because most of what is near a question does not answer it. At 0.04, 99 % of small talk and 87 %
// of questions about other chats get nothing, and so do 2 % of those with an answer; recall at 5
// falls from 0.66 to 0.59.
const defaultThreshold = 0.04

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
