package layout

import (
	"context"
	"math"
)

// Axes are the directions in which vectors differ most, the first most of all.
type Axes struct {
	mean []float32
	axes [][]float32
}

// rounds of orthogonal iteration tell the first axes well apart.
const rounds = 12

// Principal returns the axes of a sample's largest variance, by orthogonal iteration (Golub and Van
// Loan, Matrix Computations, 8.2.4).
func Principal(ctx context.Context, sample [][]float32, count int) (Axes, error) {
	dimension := len(sample[0])
	a := Axes{mean: make([]float32, dimension)}
	for _, v := range sample {
		for i, x := range v {
			a.mean[i] += x / float32(len(sample))
		}
	}
	random := newRandom()
	for range min(count, dimension) {
		axis := make([]float32, dimension)
		for i := range axis {
			axis[i] = float32(below(random, 2000))/1000 - 1
		}
		a.axes = append(a.axes, axis)
	}
	orthogonal(a.axes)
	short := make([]float32, len(a.axes))
	centred := make([]float32, dimension)
	for range rounds {
		next := make([][]float32, len(a.axes))
		for i := range next {
			next[i] = make([]float32, dimension)
		}
		for _, v := range sample {
			if err := ctx.Err(); err != nil {
				return Axes{}, err
			}
			a.Shorten(v, short)
			for i := range v {
				centred[i] = v[i] - a.mean[i]
			}
			for i, part := range short {
				add(next[i], centred, part)
			}
		}
		orthogonal(next)
		a.axes = next
	}
	return a, nil
}

// Count is the number of axes.
func (a Axes) Count() int { return len(a.axes) }

// Shorten sets short to a vector's numbers along the axes. Distances never grow.
func (a Axes) Shorten(vector, short []float32) {
	for i, axis := range a.axes {
		short[i] = product(axis, vector) - product(axis, a.mean)
	}
}

// add adds part times b to a.
func add(a, b []float32, part float32) {
	b = b[:len(a)]
	for i := range a {
		a[i] += part * b[i]
	}
}

// orthogonal makes axes orthogonal, of length 1, or 0 if they have no direction of their own.
func orthogonal(axes [][]float32) {
	for i, axis := range axes {
		before := math.Sqrt(float64(product(axis, axis)))
		for range 2 { // twice is enough (Kahan)
			for _, earlier := range axes[:i] {
				add(axis, earlier, -product(axis, earlier))
			}
		}
		length := math.Sqrt(float64(product(axis, axis)))
		if length <= 1e-5*before || length == 0 {
			clear(axis)
			continue
		}
		for j := range axis {
			axis[j] = float32(float64(axis[j]) / length)
		}
	}
}
