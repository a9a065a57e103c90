package layout

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// A Graph has the K nearest of each point, approximately, the nearest first.
type Graph struct {
	K        int
	To       []int32   // of point i: from i*K on
	Distance []float32 // squared
}

const (
	trees = 8
	// mostInLeaf points are compared with each other. Half of them are more than neighbours.
	mostInLeaf = 48
	explored   = 2
)

// Neighbours returns the k nearest of each point, or all others if there are fewer. k is at most
// 16.
//
// Trees of random cuts find the first ones (Dasgupta and Freund 2008). Then neighbours of
// neighbours are tried: they are often neighbours (NN-Descent, Dong et al. 2011; LargeVis).
func Neighbours(ctx context.Context, points Points, k int, progress func(float64)) (Graph, error) {
	n := points.Len()
	k = min(k, n-1)
	g := Graph{K: k, To: make([]int32, n*k), Distance: make([]float32, n*k)}
	for i := range g.To {
		g.To[i], g.Distance[i] = -1, math.MaxFloat32
	}
	f := forest{points: points, graph: &g, ctx: ctx}
	for i := range n {
		f.order = append(f.order, placed{point: int32(i)})
	}
	f.random = newRandom()
	for t := range trees {
		if err := f.cut(f.order); err != nil {
			return Graph{}, err
		}
		progress(float64(t+1) / (trees + explored))
	}
	for t := range explored {
		if err := g.explore(ctx, points); err != nil {
			return Graph{}, err
		}
		progress(float64(trees+t+1) / (trees + explored))
	}
	return g, nil
}

// offer takes a point as a neighbour if it is nearer than the last.
func (g *Graph) offer(of, point int, distance float32) {
	from := of * g.K
	near, to := g.Distance[from:from+g.K], g.To[from:from+g.K]
	at := g.K - 1
	if distance >= near[at] || slices.Contains(to, int32(point)) {
		return
	}
	for ; at > 0 && near[at-1] > distance; at-- {
		near[at], to[at] = near[at-1], to[at-1]
	}
	near[at], to[at] = distance, int32(point)
}

// of returns a point's neighbours.
func (g *Graph) of(point int) []int32 { return g.To[point*g.K : (point+1)*g.K] }

// explore tries the neighbours of neighbours.
func (g *Graph) explore(ctx context.Context, points Points) error {
	before := Graph{K: g.K, To: slices.Clone(g.To)}
	tried := make([]int32, points.Len()) // 1 + the point that tried it last
	for i := range points.Len() {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		tried[i] = int32(i + 1)
		for _, j := range before.of(i) {
			for _, other := range before.of(int(j)) {
				if tried[other] == int32(i+1) {
					continue
				}
				tried[other] = int32(i + 1)
				d := points.distance(i, int(other))
				g.offer(i, int(other), d)
				g.offer(int(other), i, d)
			}
		}
	}
	return nil
}

// A forest cuts points into leaves.
type forest struct {
	ctx    context.Context
	points Points
	graph  *Graph
	order  []placed
	random interface{ Uint64() uint64 }
}

// A placed point has a place on the line across a cut.
type placed struct {
	along float32
	point int32
}

// cut halves the points until few are left, and compares those.
func (f *forest) cut(some []placed) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	if len(some) <= mostInLeaf {
		for i, a := range some {
			for _, b := range some[:i] {
				d := f.points.distance(int(a.point), int(b.point))
				f.graph.offer(int(a.point), int(b.point), d)
				f.graph.offer(int(b.point), int(a.point), d)
			}
		}
		return nil
	}
	a := f.points.At(int(some[f.random.Uint64()%uint64(len(some))].point))
	b := f.points.At(int(some[f.random.Uint64()%uint64(len(some))].point))
	line := make([]float32, len(a))
	for i := range line {
		line[i] = a[i] - b[i]
	}
	for i := range some {
		some[i].along = product(line, f.points.At(int(some[i].point)))
	}
	slices.SortFunc(some, func(x, y placed) int {
		return cmp.Or(cmp.Compare(x.along, y.along), cmp.Compare(x.point, y.point))
	})
	half := len(some) / 2
	if err := f.cut(some[:half]); err != nil {
		return err
	}
	return f.cut(some[half:])
}

// An edge joins two near points.
type edge struct {
	a, b   int32
	weight float32 // in (0, 1]
}

// leastWeight is that of edges which would pull about once.
const leastWeight = 1.0 / 200

// edgesOf returns the edges of UMAP's fuzzy graph (McInnes 2018, algorithms 1 to 3).
func edgesOf(g Graph) []edge {
	if g.K == 0 {
		return nil
	}
	weights := make([]float32, len(g.To))
	for i := range len(g.To) / g.K {
		weigh(g.Distance[i*g.K:(i+1)*g.K], weights[i*g.K:(i+1)*g.K])
	}
	var edges []edge
	for i := range len(g.To) / g.K {
		for at, j := range g.of(i) {
			w := weights[i*g.K+at]
			if back := slices.Index(g.of(int(j)), int32(i)); back >= 0 {
				if int(j) < i {
					continue // it is there already
				}
				other := weights[int(j)*g.K+back]
				w += other - w*other
			}
			if w >= leastWeight {
				edges = append(edges, edge{int32(i), j, w})
			}
		}
	}
	return edges
}

// weigh sets weights to exp(-(d-nearest)/s), with s such that they sum up to log2 of their number +
// 1.
func weigh(distances, weights []float32) {
	nearest := math.Sqrt(float64(distances[0]))
	want := math.Log2(float64(len(distances) + 1))
	low, high, s := 0.0, math.Inf(1), 1.0
	for range 40 {
		sum := 0.0
		for i, d := range distances {
			w := math.Exp(-(math.Sqrt(float64(d)) - nearest) / s)
			weights[i] = float32(w)
			sum += w
		}
		switch {
		case math.Abs(sum-want) < 1e-4:
			return
		case sum > want:
			high = s
		default:
			low = s
		}
		if math.IsInf(high, 1) {
			s *= 2
		} else {
			s = (low + high) / 2
		}
		if s < 1e-9 {
			return // all are as near as the nearest
		}
	}
}
