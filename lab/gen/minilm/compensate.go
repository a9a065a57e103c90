package main

import (
	"errors"
	"math"
	"sync"
)

// damping of a gram's diagonal is a share of its mean, so that rare inputs do not carry others'
// errors.
const damping = 0.01

// factor returns U with UᵀU the inverse of a gram. Row i says how later weights compensate for
// rounding weight i (Frantar et al., GPTQ, 2022, arXiv 2210.17323, algorithm 1).
func (g *gram) factor() ([]float64, error) {
	n := g.n
	h := append([]float64(nil), g.sums...)
	mean := 0.0
	for i := range n {
		mean += h[i*n+i] / float64(n)
	}
	for i := range n {
		h[i*n+i] += damping * mean
	}
	if err := cholesky(h, n); err != nil {
		return nil, err
	}
	inverse := invert(h, n)
	if err := cholesky(inverse, n); err != nil {
		return nil, err
	}
	upper := make([]float64, n*n)
	for i := range n {
		for j := i; j < n; j++ {
			upper[i*n+j] = inverse[j*n+i]
		}
	}
	return upper, nil
}

// cholesky replaces the lower half of a by L, LLᵀ being a.
func cholesky(a []float64, n int) error {
	for i := range n {
		for j := range i + 1 {
			s := a[i*n+j]
			for k, v := range a[i*n:][:j] {
				s -= v * a[j*n+k]
			}
			switch {
			case i > j:
				a[i*n+j] = s / a[j*n+j]
			case s <= 0:
				return errors.New("gram of calibration inputs is not positive definite")
			default:
				a[i*n+i] = math.Sqrt(s)
			}
		}
	}
	return nil
}

// invert returns the inverse of LLᵀ, its lower half.
func invert(l []float64, n int) []float64 {
	inverse := make([]float64, n*n) // of L, transposed: row j is its column j
	for j := range n {
		column := inverse[j*n:][:n]
		column[j] = 1 / l[j*n+j]
		for i := j + 1; i < n; i++ {
			s := 0.0
			for k := j; k < i; k++ {
				s -= l[i*n+k] * column[k]
			}
			column[i] = s / l[i*n+i]
		}
	}
	out := make([]float64, n*n)
	for i := range n {
		for j := range i + 1 {
			for k := i; k < n; k++ {
				out[i*n+j] += inverse[i*n+k] * inverse[j*n+k]
			}
		}
	}
	return out
}

// compensated rounds a column; later weights compensate for errors. scales has one a group.
func compensated(column []float32, scales []float32, upper []float64) []byte {
	n := len(column)
	left := make([]float64, n)
	for i, v := range column {
		left[i] = float64(v)
	}
	codes := make([]byte, n)
	group := n / len(scales)
	for i := range n {
		s := scales[i/group]
		codes[i] = code(float32(left[i]), s)
		row := upper[i*n:][:n]
		e := (left[i] - float64(int8(codes[i]))*float64(s)) / row[i]
		for j := i + 1; j < n; j++ {
			left[j] -= e * row[j]
		}
	}
	return codes
}

func everyColumn(n int, do func(col int)) {
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() {
			for col := part; col < n; col += parts {
				do(col)
			}
		})
	}
	wg.Wait()
}
