package layout

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func ignore(float64) {}

// clusters returns unit-like vectors around random centres.
func clusters(n, groups, dimension int) [][]float32 {
	random := rand.New(rand.NewPCG(1, 2))
	centres := make([][]float32, groups)
	for i := range centres {
		centres[i] = make([]float32, dimension)
		for j := range centres[i] {
			centres[i][j] = float32(random.NormFloat64())
		}
	}
	all := make([][]float32, n)
	for i := range all {
		all[i] = make([]float32, dimension)
		for j := range all[i] {
			all[i][j] = centres[i%groups][j] + .35*float32(random.NormFloat64())
		}
	}
	return all
}

// shortened returns vectors along their principal axes.
func shortened(t testing.TB, all [][]float32, count int) Points {
	axes, err := Principal(t.Context(), all, count)
	require.NoError(t, err)
	p := Points{Dimension: axes.Count(), Values: make([]float32, len(all)*axes.Count())}
	for i, v := range all {
		axes.Shorten(v, p.At(i))
	}
	return p
}

func place(t testing.TB, p Points) (Graph, []float32) {
	near, err := Neighbours(t.Context(), p, 15, ignore)
	require.NoError(t, err)
	at, err := Place(t.Context(), p, near, ignore)
	require.NoError(t, err)
	return near, at
}

// ranks returns, for each point, all others by distance.
func ranks(p Points) [][]int {
	all, far := make([][]int, p.Len()), make([]float32, p.Len())
	for i := range all {
		for j := range p.Len() {
			far[j] = p.distance(i, j)
			if j != i {
				all[i] = append(all[i], j)
			}
		}
		slices.SortStableFunc(all[i], func(a, b int) int { return cmp.Compare(far[a], far[b]) })
	}
	return all
}

// trustworthiness is 1 if neighbours on the plane are neighbours in truth (Venna and Kaski 2001).
func trustworthiness(points Points, at []float32, k int) float64 {
	truth, shown := ranks(points), ranks(Points{Dimension: 2, Values: at})
	n, sum := points.Len(), 0.0
	for i := range n {
		rank := make([]int, n)
		for r, j := range truth[i] {
			rank[j] = r + 1
		}
		for _, j := range shown[i][:k] {
			sum += float64(max(0, rank[j]-k))
		}
	}
	return 1 - 2*sum/float64(n*k*(2*n-3*k-1))
}

// Neighbours stay neighbours, where the principal axes alone mix up the clusters.
func TestNeighboursStayNear(t *testing.T) {
	p := shortened(t, clusters(900, 40, 96), 48)
	axes := make([]float32, 0, 2*p.Len())
	for i := range p.Len() {
		axes = append(axes, p.At(i)[0], p.At(i)[1])
	}
	_, at := place(t, p)
	alone, placed := trustworthiness(p, axes, 15), trustworthiness(p, at, 15)
	t.Logf("trustworthiness: principal axes %.3f, layout %.3f", alone, placed)
	require.Less(t, alone, .9)
	require.Greater(t, placed, .97)
}

func TestNeighboursAreNearest(t *testing.T) {
	p := shortened(t, clusters(1500, 10, 64), 32)
	near, err := Neighbours(t.Context(), p, 15, ignore)
	require.NoError(t, err)
	truth, found := ranks(p), 0
	for i, all := range truth {
		for _, j := range all[:15] {
			if slices.Contains(near.of(i), int32(j)) {
				found++
			}
		}
	}
	require.Greater(t, float64(found)/float64(15*p.Len()), .95, "recall")
}

func TestPrincipalAxes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	all := make([][]float32, 500)
	for i := range all {
		all[i] = []float32{float32(random.NormFloat64()), 5 * float32(random.NormFloat64()), 20 * float32(random.NormFloat64()), 7}
	}
	axes, err := Principal(t.Context(), all, 2)
	require.NoError(t, err)
	require.InDelta(t, 1, abs(axes.axes[0][2]), .01)
	require.InDelta(t, 1, abs(axes.axes[1][1]), .01)
	short, other := make([]float32, 2), make([]float32, 2)
	axes.Shorten(all[0], short)
	axes.Shorten(all[1], other)
	require.LessOrEqual(t, squared(short, other), squared(all[0], all[1])*1.0001, "distances do not grow")
}

func TestLayoutIsDeterministic(t *testing.T) {
	all := clusters(700, 20, 40)
	_, first := place(t, shortened(t, all, 32))
	_, second := place(t, shortened(t, all, 32))
	require.Equal(t, first, second)
}

// Few, equal and zero vectors have a place, too.
func TestLayoutOfFewPoints(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 200} {
		for name, all := range map[string][][]float32{"different": clusters(n, 3, 8), "equal": slices.Repeat([][]float32{{1, 2, 3}}, n), "zero": slices.Repeat([][]float32{{0, 0}}, n)} {
			p := shortened(t, all, 32)
			_, at := place(t, p)
			x, y := Whole(at)
			require.Len(t, x, n, name)
			require.Len(t, y, n, name)
			for _, v := range at {
				require.False(t, v != v || v > 1e6 || v < -1e6, "%s: %d points, coordinate %v", name, n, v)
			}
		}
	}
}

func TestCancelReturnsSoon(t *testing.T) {
	p := shortened(t, clusters(20_000, 50, 40), 32)
	sample := clusters(2000, 5, 800)
	for name, work := range map[string]func(context.Context) error{
		"neighbours": func(ctx context.Context) error { _, err := Neighbours(ctx, p, 15, ignore); return err },
		"place": func(ctx context.Context) error {
			near := Graph{K: 1, To: make([]int32, p.Len()), Distance: make([]float32, p.Len())}
			_, err := Place(ctx, p, near, ignore)
			return err
		},
		"principal": func(ctx context.Context) error { _, err := Principal(ctx, sample, 50); return err },
	} {
		ctx, stop := context.WithCancel(t.Context())
		var began time.Time
		time.AfterFunc(20*time.Millisecond, func() { began = time.Now(); stop() })
		require.ErrorIs(t, work(ctx), context.Canceled, name)
		require.Less(t, time.Since(began), time.Second, name)
	}
}

func TestWhole(t *testing.T) {
	x, y := Whole([]float32{-1, 0, 3, 1, 1, .5})
	require.Less(t, x[0], uint16(10))
	require.Greater(t, x[1], uint16(65_520))
	require.InDelta(t, 32_767, int(x[2]), 1)
	require.InDelta(t, 16_384, int(y[1])-int(y[0]), 10, "both axes have one scale")
}

func BenchmarkLayout(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := shortened(b, clusters(n, n/50, 64), 48)
			for b.Loop() {
				place(b, p)
			}
		})
	}
}
