// Package layout places vectors on a plane, so that neighbours stay neighbours.
//
// The steps are those of LargeVis (Tang et al. 2016, arXiv:1602.00370) and UMAP (McInnes et al.
// 2018, arXiv:1802.03426): Principal axes make vectors short, Neighbours finds who is near whom,
// and Place moves points on the plane. All work in one goroutine, are deterministic, and end soon
// after their context.
package layout

import (
	"context"
	"math"
	"math/rand/v2"
)

// Points are vectors of one length, one after another.
type Points struct {
	Dimension int // at least 2
	Values    []float32
}

// Len is the number of points.
func (p Points) Len() int { return len(p.Values) / p.Dimension }

// At returns a point's numbers, not a copy.
func (p Points) At(i int) []float32 { return p.Values[i*p.Dimension : (i+1)*p.Dimension] }

func (p Points) distance(i, j int) float32 { return squared(p.At(i), p.At(j)) }

// squared returns the squared distance. Four sums do not wait for each other.
func squared(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		d0, d1, d2, d3 := x[0]-y[0], x[1]-y[1], x[2]-y[2], x[3]-y[3]
		s0 += d0 * d0
		s1 += d1 * d1
		s2 += d2 * d2
		s3 += d3 * d3
	}
	for ; i < len(a); i++ {
		s0 += (a[i] - b[i]) * (a[i] - b[i])
	}
	return (s0 + s1) + (s2 + s3)
}

func product(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// seed makes each run the same.
const seed = 23

func newRandom() *rand.PCG { return rand.NewPCG(seed, seed) }

// below returns a number from 0 to n-1 (Lemire 2019, without rejection: n is small).
func below(random *rand.PCG, n int) int { return int(random.Uint64() >> 32 * uint64(n) >> 32) }

// Place returns two coordinates for each point. near are its neighbours. progress gets the share
// that is done.
//
// It minimises UMAP's cross entropy by stochastic gradient descent with negative samples, from the
// first two principal axes, with 1/(1+d²) as the likeness of points on the plane, as in LargeVis.
func Place(ctx context.Context, points Points, near Graph, progress func(float64)) ([]float32, error) {
	at := begin(points)
	edges := edgesOf(near)
	epochs := 500
	if points.Len() > 10_000 {
		epochs = 200
	}
	m := mover{at: at, random: newRandom(), n: points.Len()}
	due := make([]float32, len(edges))
	for i, e := range edges {
		due[i] = 1 / e.weight
	}
	for epoch := range epochs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m.step = 1 - float32(epoch)/float32(epochs)
		for i, e := range edges {
			if due[i] > float32(epoch+1) {
				continue
			}
			due[i] += 1 / e.weight
			if epoch%2 == 1 {
				e.a, e.b = e.b, e.a
			}
			m.move(e)
		}
		progress(float64(epoch+1) / float64(epochs))
	}
	return at, nil
}

// width is the plane's at the beginning.
const width = 20

// begin scales the first two axes to the plane. A little noise parts equal points.
func begin(points Points) []float32 {
	at := make([]float32, 2*points.Len())
	most := float32(1e-9)
	for i := range points.Len() {
		p := points.At(i)
		at[2*i], at[2*i+1] = p[0], p[1]
		most = max(most, abs(p[0]), abs(p[1]))
	}
	random := newRandom()
	for i := range at {
		noise := float32(below(random, 1000))/1000 - .5
		at[i] = at[i]*width/2/most + noise*width/1000
	}
	return at
}

func abs(x float32) float32 { return max(x, -x) }

// negatives are pushed away for each edge that pulls.
const negatives = 5

// A mover moves points on the plane.
type mover struct {
	at     []float32
	n      int
	step   float32
	random *rand.PCG
}

// move pulls the ends of an edge together, and pushes a away from others.
func (m *mover) move(e edge) {
	a := m.at[2*e.a : 2*e.a+2]
	b := m.at[2*e.b : 2*e.b+2]
	dx, dy := a[0]-b[0], a[1]-b[1]
	pull := -2 / (1 + dx*dx + dy*dy)
	gx, gy := m.step*clip(pull*dx), m.step*clip(pull*dy)
	a[0], a[1], b[0], b[1] = a[0]+gx, a[1]+gy, b[0]-gx, b[1]-gy
	for range negatives {
		other := below(m.random, m.n)
		if other == int(e.a) || other == int(e.b) {
			continue
		}
		c := m.at[2*other : 2*other+2]
		dx, dy := a[0]-c[0], a[1]-c[1]
		d := dx*dx + dy*dy
		push := 2 / ((.001 + d) * (1 + d))
		a[0] += m.step * clip(push*dx)
		a[1] += m.step * clip(push*dy)
	}
}

// clip bounds a step.
func clip(x float32) float32 { return max(-4, min(4, x)) }

// Whole returns coordinates as whole numbers from 0 to 65,535, of one scale.
func Whole(at []float32) (x, y []uint16) {
	least, most := [2]float32{math.MaxFloat32, math.MaxFloat32}, [2]float32{-math.MaxFloat32, -math.MaxFloat32}
	for i, v := range at {
		least[i%2], most[i%2] = min(least[i%2], v), max(most[i%2], v)
	}
	span := max(most[0]-least[0], most[1]-least[1], 1e-9)
	x, y = make([]uint16, len(at)/2), make([]uint16, len(at)/2)
	for i := range x {
		x[i] = whole(at[2*i], least[0], most[0], span)
		y[i] = whole(at[2*i+1], least[1], most[1], span)
	}
	return x, y
}

func whole(v, least, most, span float32) uint16 {
	return uint16(math.MaxUint16 * (.5 + (v-(least+most)/2)/span*.9999))
}
