// Package kernel holds the arithmetic of a transformer on float32 slices: the product of matrices,
// and what is done to every number between two of them.
//
// A Set is one implementation; Sets lists those this machine can run: the portable one, and on x86-64
// assembly for AVX2, AVX-512 and AVX-512 VNNI (left out by the build tags purego and noasm). They differ in the
// last bits of a result, never in more. The functions check their slices once a call and keep
// nothing; all are safe for concurrent use on slices that do not overlap.
package kernel

//go:generate go run ./gen -out kernel_amd64.s -stubs stubs_amd64.go -pkg kernel
//go:generate go run ./genarm -out kernel_arm64.s -stubs stubs_arm64.go

// Width is how many columns of a product are computed at a time, and how many numbers the lengths of
// rows given to the other functions must be a multiple of.
const Width = 32

// Group is how many numbers share a scale: of a column of a quantised panel, and of a row of what is
// multiplied with it. Quad is how many numbers of a column lie side by side.
const (
	Group = 32
	Quad  = 4
)

// geluBlock is what the length given to GELU must be a multiple of.
const geluBlock = 64

// A Set is one implementation of the functions.
type Set struct {
	name string
	// tile is how many rows multiply takes at a time.
	tile int
	// multiply, for 1 to tile rows, adds a·b to c; b and c have Width columns.
	multiply   func(rows, depth int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int)
	dequantise func(dst []float32, codes []byte, scales []float32)
	// round replaces x by the nearest numbers that Round can give.
	round func(dst, x []float32)
	// integer is nil where the machine has no fast products of bytes.
	integer   *integer
	gelu      func(x []float32)
	softmax   func(x []float32, scale float32)
	layerNorm func(x, add, gain, bias []float32)
}

// Name says which instructions the set uses: "portable", "avx2", "avx512" or "avx512vnni".
func (s *Set) Name() string { return s.name }

// Best is the fastest set of this machine.
func Best() *Set { return Sets()[0] }

// MultiplyAdd adds the product a·b to c, where a has the given rows of depth numbers, b depth rows of
// Width numbers and c rows of Width numbers. Row i of a matrix starts at i times its stride (lda,
// ldb, ldc). Each number of c is the sum of its products in the order of depth, whatever rows is.
func (s *Set) MultiplyAdd(rows, depth int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	if rows == 0 || depth == 0 {
		return
	}
	_ = a[(rows-1)*lda+depth-1]
	_ = b[(depth-1)*ldb+Width-1]
	_ = c[(rows-1)*ldc+Width-1]
	// Tiles of nearly equal height: 14 rows are 7 and 7 rather than 12 and 2.
	tiles := (rows + s.tile - 1) / s.tile
	for i := range tiles {
		lo, hi := i*rows/tiles, (i+1)*rows/tiles
		s.multiply(hi-lo, depth, a[lo*lda:], lda, b, ldb, c[lo*ldc:], ldc)
	}
}

// Dequantise writes codes as rows of Width numbers to dst, each times the scale of its column; every
// Group rows the next Width scales are used. The number of rows is a multiple of Group. Codes are bytes
// that stand for themselves less 128; the Quad codes of four rows lie side by side, column by column.
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

// GELU replaces each x by x·Φ(x), Φ being the distribution function of the normal distribution; off
// by less than 2e-6. The length is a multiple of 64.
func (s *Set) GELU(x []float32) {
	if len(x)%geluBlock != 0 {
		panic("kernel: length for GELU is not a multiple of 64")
	}
	if len(x) > 0 {
		s.gelu(x)
	}
}

// Softmax replaces each x by exp(scale·x) divided by the sum of all those; scale is positive. The
// length is a multiple of Width; fill it up with -Inf. Numbers that are 80/scale or more below the
// largest count as if they were that far below it.
func (s *Set) Softmax(x []float32, scale float32) {
	checkWidth(len(x))
	if len(x) > 0 {
		s.softmax(x, scale)
	}
}

// LayerNorm replaces x by x + add, less its mean, divided by its standard deviation (of the
// variance plus 1e-12), times gain, plus bias. The length is a multiple of Width.
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
