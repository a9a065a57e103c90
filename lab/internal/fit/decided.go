package fit

import (
	"math"

	"github.com/memcore/memcore/core/relevance"
)

// decisions count what the scores of a source decide.
type decisions struct {
	asked, silent [Sister + 1]float64 // by kind of question
	given, right  float64             // first candidates at the threshold or above, of answerable questions
	bins          [10]struct{ n, said, right float64 }
}

// decided counts what the first candidate's score decides, by source.
func (s Sample) decided(serving func(source string) *relevance.Model) map[string]*decisions {
	by := map[string]*decisions{}
	for _, q := range s.Questions {
		d := by[q.Set]
		if d == nil {
			d = &decisions{}
			by[q.Set] = d
		}
		m := serving(q.Set)
		ranked := m.Rank(q.Query, q.Candidates)
		d.asked[q.Kind]++
		if len(ranked) == 0 || ranked[0].Score < m.Threshold {
			d.silent[q.Kind]++
		}
		if len(ranked) == 0 || q.Kind != Answerable {
			continue
		}
		right := yes(q.Relevant[q.unit(ranked[0].ID)] > 0)
		bin := &d.bins[min(int(ranked[0].Score*float64(len(d.bins))), len(d.bins)-1)]
		bin.n, bin.said, bin.right = bin.n+1, bin.said+ranked[0].Score, bin.right+right
		if ranked[0].Score >= m.Threshold {
			d.given, d.right = d.given+1, d.right+right
		}
	}
	return by
}

// figures are the shares of answerable questions that get nothing and of first candidates given
// that answer; the shares of questions to other sources, to sister collections and of
// unanswerable ones that get nothing; and the mean difference of a first score from the share of
// answers at such scores. What was not asked is NaN.
func (d *decisions) figures() [6]float64 {
	off, n := 0.0, 0.0
	for _, b := range d.bins {
		off, n = off+math.Abs(b.said-b.right), n+b.n
	}
	silent := func(k Kind) float64 { return d.silent[k] / d.asked[k] }
	return [6]float64{silent(Answerable), d.right / d.given, silent(Foreign), silent(Sister), silent(Unanswerable), off / n}
}
