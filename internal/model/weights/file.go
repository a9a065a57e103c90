package weights

import (
	"encoding/binary"
	"fmt"
	"math"
)

// reader takes parts from data, empty ones beyond its end.
type reader struct {
	data  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.data) {
		r.short, r.data = true, nil
	}
	if r.short {
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) codes(b *[]byte, n int) { *b = r.take(n) }

func (r *reader) floats(f *[]float32, n int) {
	b := r.take(4 * n)
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	*f = out
}

func (r *reader) halves(f *[]float32, n int) {
	b := r.take(2 * n)
	out := make([]float32, len(b)/2)
	for i := range out {
		out[i] = Half(binary.LittleEndian.Uint16(b[2*i:]))
	}
	*f = out
}

// writer appends the parts to data.
type writer struct{ data []byte }

func (w *writer) codes(b *[]byte, n int) {
	checkLength(len(*b), n)
	w.data = append(w.data, *b...)
}

func (w *writer) floats(f *[]float32, n int) {
	checkLength(len(*f), n)
	for _, v := range *f {
		w.data = binary.LittleEndian.AppendUint32(w.data, math.Float32bits(v))
	}
}

func (w *writer) halves(f *[]float32, n int) {
	checkLength(len(*f), n)
	for _, v := range *f {
		w.data = binary.LittleEndian.AppendUint16(w.data, toHalf(v))
	}
}

func checkLength(got, want int) {
	if got != want {
		panic(fmt.Sprintf("weights: a part has %d numbers, want %d", got, want))
	}
}

// RoundHalf rounds v, 0 or from 2⁻¹⁴ to 65504 in size, to half precision.
func RoundHalf(v float32) float32 { return Half(toHalf(v)) }

// toHalf rounds to even. It panics outside of half precision's normal numbers.
func toHalf(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	if b<<1 == 0 {
		return sign
	}
	b += 0x0fff + b>>13&1
	exponent := int(b>>23&0xff) - 127 + 15
	if exponent < 1 || exponent > 30 {
		panic(fmt.Sprintf("weights: scale %v does not fit half precision", v))
	}
	return sign | uint16(exponent)<<10 | uint16(b>>13&0x3ff)
}

// Half returns a number of half precision; subnormal ones are taken for 0.
func Half(h uint16) float32 {
	sign, rest := uint32(h&0x8000)<<16, uint32(h&0x7fff)
	if rest < 0x400 { // zero; toHalf writes no subnormal numbers
		return math.Float32frombits(sign)
	}
	return math.Float32frombits(sign | (rest<<13 + (127-15)<<23))
}

// counter adds up the bytes of all parts.
type counter int

func (c *counter) codes(_ *[]byte, n int)     { *c += counter(n) }
func (c *counter) floats(_ *[]float32, n int) { *c += counter(4 * n) }
func (c *counter) halves(_ *[]float32, n int) { *c += counter(2 * n) }
