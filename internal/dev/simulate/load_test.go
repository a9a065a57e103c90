package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// near fails if got is not want within a share of it.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within*math.Abs(want) {
		t.Errorf("%s is %g, want %g within %g%%", what, got, want, 100*within)
	}
}

func TestPickFollowsZipf(t *testing.T) {
	for _, exponent := range []float64{0, 0.8, 1, 1.5} {
		l := Load{Tenants: 1000, Zipf: exponent, Retrievals: 1}
		all := 0.
		for rank := 1; rank <= l.Tenants; rank++ {
			all += math.Pow(float64(rank), -exponent)
		}
		s := l.shares(1, math.Inf(1), 1)[0]
		random, got := rand.New(rand.NewPCG(1, 2)), make([]float64, 3)
		const picks = 1_000_000
		for range picks {
			if i := s.pick(random.Float64()); i < len(got) {
				got[i] += 1. / picks
			}
		}
		for i, g := range got {
			near(t, "share of a rank", g, math.Pow(float64(i+1), -exponent)/all, 0.15)
		}
	}
}

func TestSharesStandForAllNodes(t *testing.T) {
	l := Load{Tenants: 20_000, Zipf: 1, Retrievals: 900, Writes: 100}
	for _, tt := range []struct {
		nodes int
		most  float64
		want  int // nodes that are simulated
	}{{1, 1, 1}, {2, 1, 2}, {50, 1, 2}, {50, math.Inf(1), 50}} {
		found := l.shares(tt.nodes, tt.most, 1)
		require.Len(t, found, tt.want)
		all := 0.
		for i, s := range found {
			all += s.stands * s.total()
			if s.total() > found[0].total() {
				t.Errorf("node %d is busier than the first", i)
			}
		}
		near(t, "share of all nodes", all, 1, 1e-9)
		if found[0].stands != 1 {
			t.Errorf("the busiest node stands for %g, want itself", found[0].stands)
		}
	}
}

func TestSizesKeepTheirMean(t *testing.T) {
	for _, spread := range []float64{0, 0.5, 1} {
		l, sum := Load{Chunks: 10_000, Spread: spread}, 0.
		const tenants = 200_000
		for rank := 1; rank <= tenants; rank++ {
			sum += l.chunksOf(rank, 7)
		}
		near(t, "mean", sum/tenants, 10_000, 0.02)
	}
}
