// Package layout places vectors on a plane, so that those which are alike are near each other.
//
// It is t-SNE (van der Maaten and Hinton 2008) without approximations, for a thousand vectors at
// the most: its time grows with the square of their number. The same vectors get the same places.
package layout

import (
	"context"
	"math"
	"math/rand/v2"
)

const (
	// perplexity is about how many neighbours of a point count.
	perplexity = 30
	rounds     = 300
	// In the first rounds, exaggerated likeness lets points of a group find each other.
	earlyRounds = 100
	exaggerated = 12
)

// Place returns a place for each vector, with coordinates from 0 to 1. Vectors have the length 1.
func Place(ctx context.Context, vectors [][]float32) ([][2]float64, error) {
	if len(vectors) < 3 {
		return scaled(startOf(len(vectors))), nil
	}
	alike, err := likeness(ctx, vectors)
	if err != nil {
		return nil, err
	}
	n := len(vectors)
	at, moved, gains := startOf(n), make([][2]float64, n), make([][2]float64, n)
	for i := range gains {
		gains[i] = [2]float64{1, 1}
	}
	near := make([][]float64, n) // how near each pair is, of which the first comes later
	for i := range near {
		near[i] = make([]float64, i)
	}
	step := max(float64(n)/exaggerated/4, 10)
	for round := range rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		exaggeration, momentum := 1.0, .8
		if round < earlyRounds {
			exaggeration, momentum = exaggerated, .5
		}
		for i, slope := range slopes(alike, near, at, exaggeration) {
			for d, s := range slope {
				if (s > 0) == (moved[i][d] > 0) { // it went too far
					gains[i][d] = max(gains[i][d]*.8, .01)
				} else {
					gains[i][d] += .2
				}
				moved[i][d] = momentum*moved[i][d] - step*gains[i][d]*s
				at[i][d] += moved[i][d]
			}
		}
	}
	return scaled(at), nil
}

// startOf returns n places near the middle, always the same.
func startOf(n int) [][2]float64 {
	random := rand.New(rand.NewPCG(23, 23))
	at := make([][2]float64, n)
	for i := range at {
		at[i] = [2]float64{1e-4 * random.NormFloat64(), 1e-4 * random.NormFloat64()}
	}
	return at
}

// likeness returns how alike two vectors are among all pairs, as probabilities.
func likeness(ctx context.Context, vectors [][]float32) ([][]float32, error) {
	n := len(vectors)
	rows := make([][]float64, n)
	for i, v := range vectors {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		distances := make([]float64, n)
		for j, w := range vectors {
			product := float32(0)
			for d, x := range v {
				product += x * w[d]
			}
			distances[j] = max(float64(2-2*product), 0)
		}
		rows[i] = neighbours(distances, i)
	}
	alike := make([][]float32, n)
	for i := range alike {
		alike[i] = make([]float32, n)
		for j := range alike[i] {
			alike[i][j] = float32(max((rows[i][j]+rows[j][i])/float64(2*n), 1e-12))
		}
	}
	return alike, nil
}

// neighbours returns the probability that point i picks each other point as its neighbour. They
// fall with the distance, so fast that their entropy is that of perplexity equal neighbours.
func neighbours(distances []float64, i int) []float64 {
	want := math.Log(min(perplexity, float64(len(distances)-1)/3))
	p := make([]float64, len(distances))
	low, high, fall := 0.0, math.Inf(1), 1.0
	for range 50 {
		sum, weighted := 0.0, 0.0
		for j, d := range distances {
			if j != i {
				p[j] = math.Exp(-d * fall)
				sum, weighted = sum+p[j], weighted+d*p[j]
			}
		}
		sum = max(sum, math.SmallestNonzeroFloat64)
		for j := range p {
			p[j] /= sum
		}
		entropy := math.Log(sum) + fall*weighted/sum
		switch {
		case math.Abs(entropy-want) < 1e-4:
			return p
		case entropy < want:
			high, fall = fall, (low+fall)/2
		case math.IsInf(high, 1):
			low, fall = fall, 2*fall
		default:
			low, fall = fall, (fall+high)/2
		}
	}
	return p
}

// slopes returns the gradient at each place: pairs that are more alike than near attract each
// other, all others repel each other.
func slopes(alike [][]float32, near [][]float64, at [][2]float64, exaggeration float64) [][2]float64 {
	total := 0.0
	for i, a := range at {
		for j, b := range at[:i] {
			x, y := a[0]-b[0], a[1]-b[1]
			near[i][j] = 1 / (1 + x*x + y*y)
			total += 2 * near[i][j]
		}
	}
	slopes := make([][2]float64, len(at))
	for i, a := range at {
		for j, b := range at[:i] {
			pull := 4 * (exaggeration*float64(alike[i][j]) - near[i][j]/total) * near[i][j]
			x, y := pull*(a[0]-b[0]), pull*(a[1]-b[1])
			slopes[i][0], slopes[i][1] = slopes[i][0]+x, slopes[i][1]+y
			slopes[j][0], slopes[j][1] = slopes[j][0]-x, slopes[j][1]-y
		}
	}
	return slopes
}

// scaled fits places into the square from 0 to 1.
func scaled(at [][2]float64) [][2]float64 {
	for d := range 2 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range at {
			low, high = min(low, p[d]), max(high, p[d])
		}
		for i := range at {
			at[i][d] = (at[i][d] - low) / max(high-low, math.SmallestNonzeroFloat64)
		}
	}
	return at
}
