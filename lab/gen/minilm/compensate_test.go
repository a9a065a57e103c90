package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// alike returns correlated inputs, like those of a model.
func alike(r *rand.Rand, n, count int) [][]float64 {
	common := make([]float64, n)
	for i := range common {
		common[i] = r.NormFloat64()
	}
	all := make([][]float64, count)
	for i := range all {
		all[i] = make([]float64, n)
		strength := 3 * r.NormFloat64()
		for j := range all[i] {
			all[i][j] = strength*common[j] + 0.3*r.NormFloat64()
		}
	}
	return all
}

// UᵀU times the gram is the identity.
func TestFactor(t *testing.T) {
	const n = 12
	g := newGram(n)
	for _, x := range alike(rand.New(rand.NewPCG(1, 2)), n, 50) {
		g.add(x)
	}
	u, err := g.factor()
	require.NoError(t, err)
	mean := 0.0
	for i := range n {
		mean += g.sums[i*n+i] / n
	}
	at := func(i, j int) float64 { // of the gram, damped
		v := g.sums[max(i, j)*n+min(i, j)]
		if i == j {
			v += damping * mean
		}
		return v
	}
	for i := range n {
		for j := range n {
			got, want := 0.0, 0.0
			if i == j {
				want = 1
			}
			for k := range n {
				inverse := 0.0
				for l := range n {
					inverse += u[l*n+i] * u[l*n+k]
				}
				got += inverse * at(k, j)
			}
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("inverse times gram at %d, %d is %v, want %v", i, j, got, want)
			}
		}
	}
}

// Compensated rounding changes the outputs for such inputs less than plain rounding.
func TestCompensated(t *testing.T) {
	const n = 64
	r := rand.New(rand.NewPCG(3, 4))
	g := newGram(n)
	seen := alike(r, n, 400)
	for _, x := range seen {
		g.add(x)
	}
	upper, err := g.factor()
	require.NoError(t, err)
	column, scales := make([]float32, n), make([]float32, 2)
	for i := range column {
		column[i] = float32(r.NormFloat64())
	}
	for i := range scales {
		scales[i] = 8 * scale(column[32*i:][:32]) // coarse, so that it shows
	}
	plain := make([]byte, n)
	for i, v := range column {
		plain[i] = code(v, scales[i/32])
	}
	deviation := func(codes []byte) (sum float64) {
		for _, x := range seen {
			d := 0.0
			for i, v := range x {
				d += v * (float64(int8(codes[i]))*float64(scales[i/32]) - float64(column[i]))
			}
			sum += d * d
		}
		return math.Sqrt(sum)
	}
	with, without := deviation(compensated(column, scales, upper)), deviation(plain)
	if with > without/2 {
		t.Errorf("outputs deviate by %v with compensation, by %v without; want half at most", with, without)
	}
}

func TestFactorRefuses(t *testing.T) {
	g := newGram(2)
	g.sums = []float64{1, 0, 5, 1}
	if _, err := g.factor(); err == nil {
		t.Error("factor of a matrix that is no gram: no error")
	}
}
