package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples of bootstrap and permutation tests, with fixed seeds.
const resamples = 2000

// An Interval has a lower and an upper end.
type Interval [2]float64

// intervals returns the 95 % intervals of means by bootstrap over queries (Efron and Tibshirani,
// 1993, section 13.3).
func intervals(values []map[string]float64) map[string]Interval {
	all := map[string]Interval{}
	if len(values) == 0 {
		return all
	}
	drawn := draws(len(values))
	for key := range values[0] {
		column := make([]float64, len(values))
		for i, scores := range values {
			column[i] = scores[key]
		}
		all[key] = intervalOf(column, drawn)
	}
	return all
}

// draws returns, for each sample, the queries drawn of n.
func draws(n int) [][]int32 {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][]int32, resamples)
	for i := range all {
		all[i] = make([]int32, n)
		for j := range all[i] {
			all[i][j] = int32(r.IntN(n))
		}
	}
	return all
}

func intervalOf(column []float64, drawn [][]int32) Interval {
	sampled := make([]float64, len(drawn))
	for i, sample := range drawn {
		for _, at := range sample {
			sampled[i] += column[at]
		}
		sampled[i] /= float64(len(column))
	}
	slices.Sort(sampled)
	return Interval{percentile(sampled, 0.025), percentile(sampled, 0.975)}
}

// percentile interpolates between the two nearest of sorted values.
func percentile(sorted []float64, q float64) float64 {
	place := q * float64(len(sorted)-1)
	low := int(math.Floor(place))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (place-float64(low))*(sorted[high]-sorted[low])
}

// signTest returns the probability, at least 1/resamples, of a mean difference this far from 0
// under random signs: a two-sided randomisation test (Smucker, Allan and Carterette, 2007).
func signTest(differences []float64) float64 {
	sum := 0.0
	for _, d := range differences {
		sum += d
	}
	if sum == 0 {
		return 1
	}
	r := rand.New(rand.NewPCG(3, 4))
	as := 1
	for range resamples {
		s := 0.0
		for _, d := range differences {
			if r.Uint64()&1 == 0 {
				s += d
			} else {
				s -= d
			}
		}
		if math.Abs(s) >= math.Abs(sum)-1e-12 {
			as++
		}
	}
	return float64(as) / (resamples + 1)
}
