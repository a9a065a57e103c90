package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomPanel returns a quantised panel with this number of rows, which contains every code.
func randomPanel(r *rand.Rand, rows int) ([]byte, []float32) {
	codes := make([]byte, rows*Width)
	for i := range codes {
		codes[i] = byte(r.Uint32())
	}
	return codes, random(r, rows/Group*Width, 0.01)
}

// codeAt returns the code at a row and column of a panel.
func codeAt(codes []byte, row, col int) float32 {
	return float32(int(codes[row/Quad*Quad*Width+col*Quad+row%Quad]) - codeZero)
}

// nearest rounds x by the definition of Round.
func nearest(x []float32) []float32 {
	out := make([]float32, len(x))
	roundPortable(out, x)
	return out
}

func TestMultiplyPanel(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(1, 2))
		var rounded Rounded
		for rows := 1; rows <= 27; rows++ {
			for _, columns := range []int{32, 64, 192, 224, 384, 800, 1536} {
				ldc := Width + r.IntN(40)
				a := random(r, rows*columns, 1)
				codes, scales := randomPanel(r, columns)
				// Numbers between the rows and after the end must not change.
				c := random(r, rows*ldc+50, 1)
				before := slices.Clone(c)
				precision := Precision(r.IntN(2))
				s.Round(&rounded, a, columns, precision)
				s.MultiplyPanel(&rounded, precision, codes, scales, c, ldc)
				near := a
				if precision == Coarse {
					near = nearest(a)
				}
				check(t, fmt.Sprintf("%d rows, %d columns, precision %d", rows, columns, precision), c, func(i int) float64 {
					row, col := i/ldc, i%ldc
					sum := float64(before[i])
					for k := 0; row < rows && col < Width && k < columns; k++ {
						sum += float64(near[row*columns+k]) * float64(codeAt(codes, k, col)) * float64(scales[k/Group*Width+col])
					}
					return sum
				}, 5e-3)
			}
		}
	})
}

// Rounding changes a number by at most half a step, and never the largest of a group.
func TestRound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := append(random(r, 20*Group, 1), make([]float32, Group)...)
	for i := range 20 {
		for j := range Group {
			x[i*Group+j] *= float32(math.Pow(10, float64(i-10)))
		}
	}
	got := nearest(x)
	for at := 0; at < len(x); at += Group {
		top := slices.Max(x[at : at+Group])
		top = max(top, -slices.Min(x[at:at+Group]))
		for i := at; i < at+Group; i++ {
			if limit := float64(top) / 127 * 0.5001; math.Abs(float64(got[i]-x[i])) > limit {
				t.Errorf("%v in a group up to %v is rounded to %v, want within %v", x[i], top, got[i], limit)
			}
		}
	}
}

// All sets round alike, so that vectors do not depend on the machine.
func TestRoundAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		x := random(r, 4*Group, float32(math.Exp(10*r.NormFloat64())))
		x[r.IntN(len(x))] = 0
		clear(x[3*Group:])
		for i := range Group / 2 { // ties
			x[2*Group+i] = (float32(i) + 0.5) / 2
		}
		x[2*Group+Group-1] = 127. / 2
		want := nearest(x)
		for _, s := range Sets() {
			var rounded Rounded
			s.Round(&rounded, x, 2*Group, Coarse)
			got := rounded.values
			if s.integer != nil {
				got = make([]float32, len(x))
				for i, code := range rounded.planes[0].codes {
					got[i] = float32(code) * rounded.planes[0].scales[i/Group]
				}
			}
			check(t, "rounded by "+s.Name(), got, func(i int) float64 { return float64(want[i]) }, 0)
		}
	}
}

// A row's product must not depend on the number of rows, so that a batch equals its texts one by
// one.
func TestMultiplyPanelRowsAlone(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(7, 8))
		const rows, columns = 29, 384
		a := random(r, rows*columns, 1)
		codes, scales := randomPanel(r, columns)
		all := make([]float32, rows*Width)
		var rounded Rounded
		s.Round(&rounded, a, columns, Fine)
		s.MultiplyPanel(&rounded, Fine, codes, scales, all, Width)
		for i := range rows {
			one := make([]float32, Width)
			s.Round(&rounded, a[i*columns:][:columns], columns, Fine)
			s.MultiplyPanel(&rounded, Fine, codes, scales, one, Width)
			check(t, fmt.Sprintf("row %d alone", i), one, func(j int) float64 { return float64(all[i*Width+j]) }, 0)
		}
	})
}

func TestRoundedRefuses(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		var rounded Rounded
		s.Round(&rounded, make([]float32, 2*Group), Group, Coarse)
		for name, call := range map[string]func(){
			"columns that are no group": func() { s.Round(new(Rounded), make([]float32, 33), 33, Coarse) },
			"no columns":                func() { s.Round(new(Rounded), nil, 0, Coarse) },
			"half a row":                func() { s.Round(new(Rounded), make([]float32, 3*Group), 2*Group, Coarse) },
			"too few codes": func() {
				s.MultiplyPanel(&rounded, Coarse, make([]byte, 1023), make([]float32, 32), make([]float32, 64), 32)
			},
			"too few scales": func() {
				s.MultiplyPanel(&rounded, Coarse, make([]byte, 1024), make([]float32, 31), make([]float32, 64), 32)
			},
			"finer than it was rounded": func() {
				s.MultiplyPanel(&rounded, Fine, make([]byte, 1024), make([]float32, 32), make([]float32, 64), 32)
			},
			"too few numbers to add to": func() {
				s.MultiplyPanel(&rounded, Coarse, make([]byte, 1024), make([]float32, 32), make([]float32, 63), 32)
			},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				call()
			}()
		}
		s.Round(&rounded, nil, Group, Fine)
		s.MultiplyPanel(&rounded, Coarse, make([]byte, 1024), make([]float32, 32), nil, 32)
	})
}

func BenchmarkMultiplyPanel(b *testing.B) {
	for _, s := range Sets() {
		for _, rows := range []int{1, 7, 14, 64, 256} {
			b.Run(fmt.Sprintf("%s/%d", s.Name(), rows), func(b *testing.B) {
				const columns = 384
				r := rand.New(rand.NewPCG(1, 1))
				codes, scales := randomPanel(r, columns)
				x, c := random(r, rows*columns, 1), make([]float32, rows*Width)
				var rounded Rounded
				s.Round(&rounded, x, columns, Coarse)
				for b.Loop() {
					s.MultiplyPanel(&rounded, Coarse, codes, scales, c, Width)
				}
				b.ReportMetric(2*float64(rows*columns*Width*b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
