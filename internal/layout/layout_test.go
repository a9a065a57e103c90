package layout

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// topics returns n vectors, each near the centre of its topic.
func topics(n, topics int) (vectors [][]float32, of []int) {
	random := rand.New(rand.NewPCG(1, 2))
	vector := func(centre []float32, noise float64) []float32 {
		v, sum := make([]float32, 64), 0.0
		for d := range v {
			v[d] = float32(noise * random.NormFloat64())
			if centre != nil {
				v[d] += centre[d]
			}
			sum += float64(v[d]) * float64(v[d])
		}
		for d := range v {
			v[d] /= float32(math.Sqrt(sum))
		}
		return v
	}
	centres := make([][]float32, topics)
	for i := range centres {
		centres[i] = vector(nil, 1)
	}
	for i := range n {
		of = append(of, i%topics)
		vectors = append(vectors, vector(centres[i%topics], .08))
	}
	return vectors, of
}

// nearestOf returns the place that is nearest to that of i.
func nearestOf(at [][2]float64, i int) int {
	best, least := -1, math.Inf(1)
	for j := range at {
		if d := math.Hypot(at[i][0]-at[j][0], at[i][1]-at[j][1]); j != i && d < least {
			best, least = j, d
		}
	}
	return best
}

func TestTopicsStandTogether(t *testing.T) {
	for _, n := range []int{60, 300} {
		vectors, of := topics(n, 12)
		at, err := Place(t.Context(), vectors)
		require.NoError(t, err)
		same := 0
		for i := range at {
			require.True(t, at[i][0] >= 0 && at[i][0] <= 1 && at[i][1] >= 0 && at[i][1] <= 1, "%v", at[i])
			if of[nearestOf(at, i)] == of[i] {
				same++
			}
		}
		require.Greater(t, float64(same)/float64(n), .95, "of %d points, those whose nearest one has their topic", n)
		again, err := Place(t.Context(), vectors)
		require.NoError(t, err)
		require.Equal(t, at, again)
	}
}

func TestFewAndEqualVectors(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 5} {
		vectors := make([][]float32, n)
		for i := range vectors {
			vectors[i] = []float32{1, 0}
		}
		at, err := Place(t.Context(), vectors)
		require.NoError(t, err)
		require.Len(t, at, n)
		for _, p := range at {
			require.False(t, math.IsNaN(p[0]+p[1]), "%v", at)
		}
	}
}

func TestPlaceEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	vectors, _ := topics(30, 3)
	_, err := Place(ctx, vectors)
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkPlace(b *testing.B) {
	vectors, _ := topics(800, 40)
	for b.Loop() {
		_, _ = Place(b.Context(), vectors)
	}
}
