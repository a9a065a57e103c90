// Package kernel is the arithmetic of a transformer on float32 slices.
//
// A Set is one implementation. Sets lists those of this machine: portable Go, and assembly for
// AVX2, AVX-512, AVX-512 VNNI and NEON (without the build tags purego and noasm). Results differ
// only in the last bits. The functions check the lengths of slices and keep nothing. They are safe
// for concurrent use on separate slices.
package kernel

//go:generate go -C ../../../../lab run ./gen/kernel -out ../embed/internal/encoder/kernel/kernel_amd64.s -stubs ../embed/internal/encoder/kernel/stubs_amd64.go -pkg kernel
//go:generate go -C ../../../../lab run ./gen/kernelarm -out ../embed/internal/encoder/kernel/kernel_arm64.s -stubs ../embed/internal/encoder/kernel/stubs_arm64.go

// Width columns are computed at a time. It divides the lengths of rows.
const Width = 32

// Group numbers share a scale. Quad codes of a column are adjacent.
const (
	Group = 32
	Quad  = 4
)

// geluBlock divides the length for GELU.
const geluBlock = 64

// A Set is one implementation of the functions.
type Set struct {
	name string
	tile int
	// multiply adds a·b to c for 1 to tile rows and Width columns.
	multiply   func(rows, depth int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int)
	dequantise func(dst []float32, codes []byte, scales []float32)
	// round rounds x as Round does.
	round func(dst, x []float32)
	// integer is nil without fast products of bytes.
	integer   *integer
	gelu      func(x []float32)
	softmax   func(x []float32, scale float32)
	layerNorm func(x, add, gain, bias []float32)
}

// Name is "portable", "avx2", "avx512", "avx512vnni", "neon" or "dotprod".
func (s *Set) Name() string { return s.name }

// Best is the fastest set of this machine.
func Best() *Set { return Sets()[0] }

// MultiplyAdd adds a·b to c: a has rows of depth numbers, b has depth rows and c rows of Width. Row
// i starts at i times its matrix's stride (lda, ldb, ldc). For any number of rows, products are
// added in the order of depth.
func (s *Set) MultiplyAdd(rows, depth int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	if rows == 0 || depth == 0 {
		return
	}
	_ = a[(rows-1)*lda+depth-1]
	_ = b[(depth-1)*ldb+Width-1]
	_ = c[(rows-1)*ldc+Width-1]
	// Tiles are of nearly equal height: 7 and 7, not 12 and 2.
	tiles := (rows + s.tile - 1) / s.tile
	for i := range tiles {
		lo, hi := i*rows/tiles, (i+1)*rows/tiles
		s.multiply(hi-lo, depth, a[lo*lda:], lda, b, ldb, c[lo*ldc:], ldc)
	}
}

// Dequantise writes codes to dst as rows of Width, each times the scale of its column and Group of
// rows, whole ones. A code is a byte less 128; the Quad codes of four rows are adjacent by column.
func (s *Set) Dequantise(dst []float32, codes []byte, scales []float32) {
	n := len(codes)
	if n == 0 {
		return
	}
	if n%(Group*Width) != 0 {
		panic("kernel: codes are not whole groups")
	}
	s.dequantise(dst[:n], codes, scales[:n/Group])
}

// GELU replaces x by x·Φ(x), Φ being the normal distribution, with an error below 2e-6. The length
// is a multiple of 64.
func (s *Set) GELU(x []float32) {
	if len(x)%geluBlock != 0 {
		panic("kernel: length for GELU is not a multiple of 64")
	}
	if len(x) > 0 {
		s.gelu(x)
	}
}

// Softmax replaces x by exp(scale·x) divided by their sum; scale is positive. Pad x with -Inf to a
// multiple of Width. Numbers more than 80/scale below the largest count as that.
func (s *Set) Softmax(x []float32, scale float32) {
	checkWidth(len(x))
	if len(x) > 0 {
		s.softmax(x, scale)
	}
}

// LayerNorm adds add to x, subtracts the mean, divides by the deviation (of the variance plus
// 1e-12), multiplies by gain and adds bias. The length is a multiple of Width.
func (s *Set) LayerNorm(x, add, gain, bias []float32) {
	checkWidth(len(x))
	if n := len(x); n > 0 {
		s.layerNorm(x, add[:n], gain[:n], bias[:n])
	}
}

func checkWidth(n int) {
	if n%Width != 0 {
		panic("kernel: length is not a multiple of 32")
	}
}
