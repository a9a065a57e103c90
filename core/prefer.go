package core

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// decay lowers scores by age: to half after each halfLife; 0 is not at all. What has no time stays.
func decay(ranked []scored, halfLife time.Duration, now time.Time) {
	if halfLife <= 0 {
		return
	}
	for i := range ranked {
		if age := now.Sub(ranked[i].record.Time); !ranked[i].record.Time.IsZero() && age > 0 {
			ranked[i].Score *= math.Exp2(-age.Hours() / halfLife.Hours())
		}
	}
	slices.SortStableFunc(ranked, func(a, b scored) int { return cmp.Compare(b.Score, a.Score) })
}

// diversify puts candidates of at least the threshold in the order of maximal marginal relevance (Carbonell and Goldstein,
// SIGIR 1998): one after the other that which is most relevant and least like those before it, likeness being the
// share of common words. Diversity is the weight of likeness, in [0, 1); 0 changes nothing. Scores stay.
func diversify(ranked []scored, threshold, diversity float64) {
	n := slices.IndexFunc(ranked, func(c scored) bool { return c.Score < threshold })
	if n < 0 {
		n = len(ranked)
	}
	n = min(n, diversified)
	if diversity <= 0 || n < 3 {
		return
	}
	said := make([]words, n)
	for i := range said {
		said[i] = wordsOf(ranked[i].record.Text)
	}
	like := make([]float64, n) // to what stands before
	for at := range n {
		best := at
		for i := at; i < n; i++ {
			if marginal(ranked[i].Score, like[i], diversity) > marginal(ranked[best].Score, like[best], diversity) {
				best = i
			}
		}
		c, s := ranked[best], said[best]
		copy(ranked[at+1:best+1], ranked[at:best])
		copy(said[at+1:best+1], said[at:best])
		copy(like[at+1:best+1], like[at:best])
		ranked[at], said[at] = c, s
		for i := at + 1; i < n; i++ {
			like[i] = max(like[i], said[i].overlap(s))
		}
	}
}

// diversified is how many candidates diversify looks at: more than any turn is given.
const diversified = 50

func marginal(score, like, diversity float64) float64 { return (1-diversity)*score - diversity*like }
