package dot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func random(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// exact computes in float64, and bounds the rounding error.
func exact(a, b []float32) (sum, slack float64) {
	for i := range a {
		p := float64(a[i]) * float64(b[i])
		sum += p
		slack += math.Abs(p)
	}
	return sum, slack * 1e-6
}

func TestProducts(t *testing.T) {
	for _, x := range usable {
		t.Run(x.name, func(t *testing.T) {
			for n := 1; n <= 300; n++ {
				testRows(t, x, n, n%7+1)
			}
			for _, n := range []int{384, 511, 768, 1024, 1536, 4096} {
				testRows(t, x, n, 33)
			}
		})
	}
}

// testRows also surrounds the output with marks.
func testRows(t *testing.T, x implementation, n, count int) {
	t.Helper()
	query, rows, out := random(uint64(n), n), random(uint64(n+1), n*count+1)[1:], random(3, count+2)
	before, after := out[0], out[count+1]
	x.products(query, rows, out[1:count+1])
	for i := range count {
		want, slack := exact(query, rows[i*n:(i+1)*n])
		if got := float64(out[i+1]); !(math.Abs(got-want) <= slack) {
			t.Errorf("product of %d numbers, row %d = %v, want %v", n, i, got, want)
		}
	}
	if out[0] != before || out[count+1] != after {
		t.Errorf("%d products of %d numbers write beyond out", count, n)
	}
}

func TestCodeProducts(t *testing.T) {
	for _, x := range usable {
		t.Run(x.name, func(t *testing.T) {
			for n := 1; n <= 200; n++ {
				testCodeRows(t, x, n, n+n%5, n%7+1)
			}
			testCodeRows(t, x, 384, 392, 33)
			testCodeRows(t, x, 4096, 4104, 3)
		})
	}
}

func testCodeRows(t *testing.T, x implementation, n, stride, count int) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), 9))
	query, out := random(uint64(n), n), random(3, count+2)
	rows := make([]byte, 1+(count-1)*stride+n)[1:]
	for i := range rows {
		rows[i] = byte(r.Uint32())
	}
	before, after := out[0], out[count+1]
	x.codeProducts(query, rows, stride, out[1:count+1])
	for i := range count {
		row := make([]float32, n)
		for j := range row {
			row[j] = float32(int8(rows[i*stride+j]))
		}
		want, slack := exact(query, row)
		if got := float64(out[i+1]); !(math.Abs(got-want) <= slack) {
			t.Errorf("product of %d bytes, row %d = %v, want %v", n, i, got, want)
		}
	}
	if out[0] != before || out[count+1] != after {
		t.Errorf("%d products of %d bytes write beyond out", count, n)
	}
}

// The product of two vectors does not depend on their place, to the last bit.
func TestProductsDoNotDependOnPlace(t *testing.T) {
	for _, x := range usable {
		for _, n := range []int{1, 7, 24, 100, 384, 389} {
			query, row := random(1, n), random(2, n)
			var want [1]float32
			x.products(query, row, want[:])
			for place := range 5 {
				rows, out := random(3, 5*n), make([]float32, 5)
				copy(rows[place*n:], row)
				x.products(query, rows, out)
				if out[place] != want[0] {
					t.Errorf("%s: product of %d numbers in row %d = %v, alone %v", x.name, n, place, out[place], want[0])
				}
			}
		}
	}
}

func TestNothingToMultiply(t *testing.T) {
	Products(random(1, 8), nil, nil)
	out := []float32{1, 2}
	Products(nil, nil, out)
	if out[0] != 0 || out[1] != 0 {
		t.Errorf("products of no numbers = %v, want zeros", out)
	}
	CodeProducts(random(1, 8), nil, 8, nil)
}

func TestRowsThatDoNotFit(t *testing.T) {
	for name, call := range map[string]func(){
		"Products":                  func() { Products(random(1, 8), random(2, 15), make([]float32, 2)) },
		"CodeProducts":              func() { CodeProducts(random(1, 8), make([]byte, 17), 10, make([]float32, 2)) },
		"CodeProducts, short steps": func() { CodeProducts(random(1, 8), make([]byte, 17), 7, make([]float32, 2)) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s of rows that do not fit: no panic", name)
				}
			}()
			call()
		}()
	}
}

func BenchmarkProducts(b *testing.B) {
	for _, x := range usable {
		for _, rows := range []int{256, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", x.name, rows), func(b *testing.B) {
				const n = 384
				query, all, out := random(1, n), random(2, rows*n), make([]float32, rows)
				b.SetBytes(int64(4 * n * rows))
				for b.Loop() {
					x.products(query, all, out)
				}
			})
		}
	}
}

func BenchmarkCodeProducts(b *testing.B) {
	for _, x := range usable {
		for _, rows := range []int{256, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", x.name, rows), func(b *testing.B) {
				const n, stride = 384, 392
				query, all, out := random(1, n), make([]byte, rows*stride), make([]float32, rows)
				b.SetBytes(int64(stride * rows))
				for b.Loop() {
					x.codeProducts(query, all, stride, out)
				}
			})
		}
	}
}
