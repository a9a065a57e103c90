package flat

import (
	"math"

	"github.com/memcore/memcore/store/flat/internal/dot"
)

// A Code is a vector in a quarter of the bytes: a scale, the length of the error, and a signed byte
// a number, padded to codeUnit. A search reads only the vectors that their codes do not rule out.
// It is exact, since
//
//	|query · vector - query · scale·bytes| ≤ |query| · |vector - scale·bytes| = error
type Code []byte

const (
	codeHead = 2 * floatSize
	codeUnit = 8
)

func codeSize(dimension int) int {
	return codeHead + (dimension+codeUnit-1)/codeUnit*codeUnit
}

// NewCode is deterministic, so that Check can compare.
func NewCode(vec []float32) Code {
	c := make(Code, codeSize(len(vec)))
	largest := float32(0)
	for _, x := range vec {
		largest = max(largest, max(x, -x))
	}
	scale := largest / 127
	square := 0.0
	for i, x := range vec {
		n := math.RoundToEven(float64(x) / float64(scale))
		c[codeHead+i] = byte(int8(n))
		gap := float64(x) - float64(scale)*n
		square += gap * gap
	}
	head := floatsOf(c[:codeHead])
	head[0], head[1] = scale, float32(math.Sqrt(square)*(1+1e-6))
	return c
}

// codes are those of consecutive rows.
type codes struct {
	dimension int
	rows      []byte
}

// limits sets out to upper bounds of the rows' cosines.
func (c codes) limits(query, out []float32) {
	size := codeSize(c.dimension)
	dot.CodeProducts(query, c.rows[codeHead:], size, out)
	slack := rounding(c.dimension)
	for i := range out {
		head := floatsOf(c.rows[i*size : i*size+codeHead])
		out[i] = out[i]*head[0] + head[1] + slack
	}
}

// rounding bounds how the order of additions changes a cosine.
func rounding(dimension int) float32 { return float32(dimension) / (1 << 21) }
