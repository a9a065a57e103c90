package remote

import (
	"fmt"
	"math"
)

// A dimensionError, vectors of two lengths, becomes embed.ErrDimension.
type dimensionError struct{ got, want int }

func (e *dimensionError) Error() string { return fmt.Sprintf("got %d numbers, want %d", e.got, e.want) }

// An answerError is an unusable answer, not retried.
type answerError struct{ text string }

func (e *answerError) Error() string { return e.text }

// Nonsense returns an error for an unusable answer, without retries.
func Nonsense(format string, args ...any) error { return &answerError{fmt.Sprintf(format, args...)} }

// accept checks an answer to n texts, normalises its vectors in place, and stores their dimension.
func (c *Client) accept(vecs [][]float32, n int) error {
	if len(vecs) != n {
		return Nonsense("%d vectors for %d texts", len(vecs), n)
	}
	for i, v := range vecs {
		if len(v) == 0 {
			return Nonsense("vector %d is empty", i)
		}
		if len(v) != len(vecs[0]) {
			return &dimensionError{len(v), len(vecs[0])}
		}
		if err := normalise(v); err != nil {
			return Nonsense("vector %d %v", i, err)
		}
	}
	got := int64(len(vecs[0]))
	if !c.dim.CompareAndSwap(0, got) && c.dim.Load() != got {
		return &dimensionError{int(got), c.Dimension()}
	}
	return nil
}

// normalise cannot overflow: it sums squares in float64.
func normalise(v []float32) error {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	norm := math.Sqrt(sum)
	switch {
	case math.IsNaN(norm) || math.IsInf(norm, 0):
		return fmt.Errorf("holds a number that is not finite")
	case norm < 1e-20:
		return fmt.Errorf("is zero")
	}
	for i, x := range v {
		v[i] = float32(float64(x) / norm)
	}
	return nil
}
