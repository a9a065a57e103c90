package core

import (
	"cmp"
	"math"
	"slices"
	"time"
)

func sortByScore(ranked []*candidate) {
	slices.SortStableFunc(ranked, func(a, b *candidate) int { return cmp.Compare(b.Score, a.Score) })
}

// decay halves scores for each halfLife of age; 0 is off.
func decay(ranked []*candidate, halfLife time.Duration, now time.Time) {
	if halfLife <= 0 {
		return
	}
	for _, c := range ranked {
		if age := now.Sub(c.record.Time); !c.record.Time.IsZero() && age > 0 {
			c.Score *= math.Exp2(-age.Hours() / halfLife.Hours())
		}
	}
	sortByScore(ranked)
}

// diversified is more candidates than any turn gets.
const diversified = 50

// diversify orders candidates above the threshold by maximal marginal relevance (Carbonell and
// Goldstein, SIGIR 1998), by common words. diversity is its weight, in [0, 1).
func diversify(ranked []*candidate, threshold, diversity float64) {
	n := slices.IndexFunc(ranked, func(c *candidate) bool { return c.Score < threshold })
	if n < 0 {
		n = len(ranked)
	}
	n = min(n, diversified)
	if diversity <= 0 || n < 3 {
		return
	}
	type item struct {
		*candidate
		said words
		like float64 // to those before
	}
	items := make([]item, n)
	for i, c := range ranked[:n] {
		items[i] = item{candidate: c, said: wordsOf(c.Text)}
	}
	marginal := func(i item) float64 { return (1-diversity)*i.Score - diversity*i.like }
	for at := range n {
		best := at
		for i := at; i < n; i++ {
			if marginal(items[i]) > marginal(items[best]) {
				best = i
			}
		}
		next := items[best]
		copy(items[at+1:best+1], items[at:best])
		items[at], ranked[at] = next, next.candidate
		for i := at + 1; i < n; i++ {
			items[i].like = max(items[i].like, items[i].said.overlap(next.said))
		}
	}
}
