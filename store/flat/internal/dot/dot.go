// Package dot multiplies a vector with many: in assembly for AVX2 and AVX-512, unless a build tag
// is purego or noasm, else in Go.
package dot

//go:generate go -C ../../../../lab run ./gen/dot -out ../store/flat/internal/dot/dot_amd64.s -stubs ../store/flat/internal/dot/stubs_amd64.go -pkg dot

// An implementation's functions take fitting slices, not empty.
type implementation struct {
	name         string
	products     func(query, rows, out []float32)
	codeProducts func(query []float32, rows []byte, stride int, out []float32)
	codesAreFast bool
}

var best = usable[0]

// Products sets out[i] to the product of query and row i, whatever the other rows are.
// Implementations differ by rounding.
func Products(query, rows, out []float32) {
	if len(rows) != len(query)*len(out) {
		panic("dot: rows do not fit")
	}
	if len(rows) == 0 {
		clear(out)
		return
	}
	best.products(query, rows, out)
}

// CodeProducts is Products of signed bytes, which begin at rows[i*stride].
func CodeProducts(query []float32, rows []byte, stride int, out []float32) {
	if len(out) == 0 || len(query) == 0 {
		clear(out)
		return
	}
	if stride < len(query) || len(rows) < (len(out)-1)*stride+len(query) {
		panic("dot: rows do not fit")
	}
	best.codeProducts(query, rows, stride, out)
}

// CodesAreFast reports whether CodeProducts beats Products.
func CodesAreFast() bool { return best.codesAreFast }

var portable = implementation{
	name: "portable",
	products: func(query, rows, out []float32) {
		n := len(query)
		for i := range out {
			out[i] = product(query, rows[i*n:(i+1)*n])
		}
	},
	codeProducts: func(query []float32, rows []byte, stride int, out []float32) {
		for i := range out {
			out[i] = codeProduct(query, rows[i*stride:])
		}
	},
}

// product keeps eight sums: additions do not wait for each other.
func product(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x, y := a[i:i+8:i+8], b[i:i+8:i+8]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s4 += x[4] * y[4]
		s5 += x[5] * y[5]
		s6 += x[6] * y[6]
		s7 += x[7] * y[7]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
}

func codeProduct(a []float32, b []byte) float32 {
	b = b[:len(a)]
	var sum float32
	for i, x := range a {
		sum += x * float32(int8(b[i]))
	}
	return sum
}
