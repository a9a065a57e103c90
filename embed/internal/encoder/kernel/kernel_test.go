package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// forEach runs test for every set of this machine.
func forEach(t *testing.T, test func(t *testing.T, s *Set)) {
	for _, s := range Sets() {
		t.Run(s.Name(), func(t *testing.T) { test(t, s) })
	}
}

func random(r *rand.Rand, n int, spread float32) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = spread * float32(r.NormFloat64())
	}
	return x
}

// check reports the first number whose error exceeds limit.
func check(t *testing.T, what string, got []float32, want func(i int) float64, limit float64) {
	t.Helper()
	for i, v := range got {
		if w := want(i); !(math.Abs(float64(v)-w) <= limit) {
			t.Errorf("%s: number %d is %v, want %v ± %v", what, i, v, w, limit)
			return
		}
	}
}

func TestMultiplyAdd(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(1, 2))
		for rows := 1; rows <= 27; rows++ {
			for _, depth := range []int{1, 2, 3, 4, 5, 7, 8, 31, 32, 192} {
				lda, ldb, ldc := depth+r.IntN(5), Width+r.IntN(40), Width+r.IntN(40)
				a, b := random(r, (rows-1)*lda+depth, 1), random(r, (depth-1)*ldb+Width, 1)
				// Numbers between the rows and after the end must not change.
				c := random(r, rows*ldc+50, 1)
				before := append([]float32(nil), c...)
				s.MultiplyAdd(rows, depth, a, lda, b, ldb, c, ldc)
				check(t, fmt.Sprintf("%d rows, depth %d", rows, depth), c, func(i int) float64 {
					row, col := i/ldc, i%ldc
					sum := float64(before[i])
					for k := 0; row < rows && col < Width && k < depth; k++ {
						sum += float64(a[row*lda+k]) * float64(b[k*ldb+col])
					}
					return sum
				}, 1e-4)
			}
		}
	})
}

// A row's product must not depend on the number of rows, so that a batch equals its texts one by
// one.
func TestMultiplyAddRowsAlone(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(3, 4))
		const rows, depth = 29, 192
		a, b := random(r, rows*depth, 1), random(r, depth*Width, 1)
		all := make([]float32, rows*Width)
		s.MultiplyAdd(rows, depth, a, depth, b, Width, all, Width)
		for i := range rows {
			one := make([]float32, Width)
			s.MultiplyAdd(1, depth, a[i*depth:], depth, b, Width, one, Width)
			check(t, fmt.Sprintf("row %d alone", i), one, func(j int) float64 { return float64(all[i*Width+j]) }, 0)
		}
	})
}

func TestMultiplyAddNothing(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		s.MultiplyAdd(0, 5, nil, 5, nil, Width, nil, Width)
		s.MultiplyAdd(5, 0, nil, 0, nil, Width, nil, Width)
	})
}

func TestMultiplyAddShort(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		defer func() {
			if recover() == nil {
				t.Errorf("MultiplyAdd with too short a matrix did not panic")
			}
		}()
		s.MultiplyAdd(2, 8, make([]float32, 15), 8, make([]float32, 8*Width), Width, make([]float32, 2*Width), Width)
	})
}

func TestDequantise(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(5, 6))
		for groups := range 8 {
			codes := make([]byte, groups*Group*Width)
			for i := range codes {
				codes[i] = byte(r.Uint32())
			}
			scales := random(r, groups*Width, 1)
			dst := make([]float32, len(codes)+1)
			dst[len(codes)] = 7
			s.Dequantise(dst, codes, scales)
			check(t, fmt.Sprintf("%d groups", groups), dst[:len(codes)], func(i int) float64 {
				row, col := i/Width, i%Width
				code := codes[row/Quad*Quad*Width+col*Quad+row%Quad]
				return float64(float32(int(code)-128) * scales[row/Group*Width+col])
			}, 0)
			if dst[len(codes)] != 7 {
				t.Errorf("%d groups: the number behind them was written", groups)
			}
		}
	})
}

func TestGELU(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		const n = 64 * 1000
		x := make([]float32, n)
		in := make([]float64, n)
		for i := range x {
			x[i] = -10 + 20*float32(i)/(n-1)
			in[i] = float64(x[i])
		}
		s.GELU(x)
		check(t, "GELU", x, func(i int) float64 { return in[i] / 2 * math.Erfc(-in[i]/math.Sqrt2) }, 4e-6)
		check(t, "GELU between -5 and 4", x[16000:44800], func(i int) float64 {
			return in[16000+i] / 2 * math.Erfc(-in[16000+i]/math.Sqrt2)
		}, 2e-6)
	})
}

func TestSoftmax(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, n := range []int{32, 64, 96, 256} {
			for _, full := range []int{1, 2, n - 1, n} {
				for _, spread := range []float32{0, 0.1, 1, 30} {
					x := random(r, n, spread)
					for i := full; i < n; i++ {
						x[i] = float32(math.Inf(-1))
					}
					in := append([]float32(nil), x...)
					const scale = 0.25
					top, sum := math.Inf(-1), 0.0
					for _, v := range in {
						top = max(top, scale*float64(v))
					}
					for _, v := range in {
						sum += math.Exp(scale*float64(v) - top)
					}
					s.Softmax(x, scale)
					check(t, fmt.Sprintf("softmax of %d in %d, spread %v", full, n, spread), x, func(i int) float64 {
						return math.Exp(scale*float64(in[i])-top) / sum
					}, 5e-7)
				}
			}
		}
	})
}

func TestLayerNorm(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		r := rand.New(rand.NewPCG(9, 10))
		for _, n := range []int{32, 64, 384} {
			x, add, gain, bias := random(r, n, 3), random(r, n, 1), random(r, n, 1), random(r, n, 1)
			y := make([]float64, n)
			mean, variance := 0.0, 0.0
			for i := range y {
				y[i] = float64(x[i] + add[i])
				mean += y[i] / float64(n)
			}
			for _, v := range y {
				variance += (v - mean) * (v - mean) / float64(n)
			}
			s.LayerNorm(x, add, gain, bias)
			check(t, fmt.Sprintf("layer norm of %d", n), x, func(i int) float64 {
				return (y[i]-mean)/math.Sqrt(variance+1e-12)*float64(gain[i]) + float64(bias[i])
			}, 1e-5)
		}
		flat := make([]float32, 32)
		s.LayerNorm(flat, make([]float32, 32), make([]float32, 32), make([]float32, 32))
		check(t, "layer norm of zeros", flat, func(int) float64 { return 0 }, 0)
	})
}

func TestLengths(t *testing.T) {
	forEach(t, func(t *testing.T, s *Set) {
		for name, call := range map[string]func(){
			"Dequantise": func() { s.Dequantise(make([]float32, 100), make([]byte, 100), make([]float32, 100)) },
			"GELU":       func() { s.GELU(make([]float32, 32)) },
			"Softmax":    func() { s.Softmax(make([]float32, 31), 1) },
			"LayerNorm":  func() { s.LayerNorm(make([]float32, 33), nil, nil, nil) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s of a length it cannot take did not panic", name)
					}
				}()
				call()
			}()
		}
		s.GELU(nil)
		s.Softmax(nil, 1)
		s.LayerNorm(nil, nil, nil, nil)
		s.Dequantise(nil, nil, nil)
	})
}

func BenchmarkMultiplyAdd(b *testing.B) {
	for _, s := range Sets() {
		for _, rows := range []int{1, 7, 12, 16, 64, 256} {
			b.Run(fmt.Sprintf("%s/%d", s.Name(), rows), func(b *testing.B) {
				const depth = 192
				r := rand.New(rand.NewPCG(1, 1))
				x, w, c := random(r, rows*depth, 1), random(r, depth*Width, 1), make([]float32, rows*Width)
				for b.Loop() {
					s.MultiplyAdd(rows, depth, x, depth, w, Width, c, Width)
				}
				b.ReportMetric(2*float64(rows*depth*Width*b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}

func BenchmarkPointwise(b *testing.B) {
	for _, s := range Sets() {
		x, y := make([]float32, 1536), make([]float32, 1536)
		codes := make([]byte, 192*Width)
		panel := make([]float32, 192*Width)
		for name, call := range map[string]func(){
			"GELU/1536":         func() { s.GELU(x) },
			"Softmax/256":       func() { s.Softmax(x[:256], 0.2) },
			"LayerNorm/384":     func() { s.LayerNorm(x[:384], y, y, y) },
			"Dequantise/192×32": func() { s.Dequantise(panel, codes, y) },
		} {
			b.Run(s.Name()+"/"+name, func(b *testing.B) {
				for b.Loop() {
					call()
				}
			})
		}
	}
}
