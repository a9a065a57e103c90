package weights

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

var small = Shape{Layers: 1, Positions: 4, Vocabulary: 5, WordBits: 4}

// random returns bytes of a shape's length. Halves are of normal numbers.
func random(t testing.TB, shape Shape) []byte {
	t.Helper()
	m := &Model{Shape: shape}
	v := &filler{rand.New(rand.NewPCG(1, 2))}
	m.visit(v)
	return m.Append(nil)
}

type filler struct{ *rand.Rand }

func (f *filler) codes(b *[]byte, n int) {
	*b = make([]byte, n)
	for i := range *b {
		(*b)[i] = byte(f.Uint32())
	}
}

func (f *filler) floats(v *[]float32, n int) {
	*v = make([]float32, n)
	for i := range *v {
		(*v)[i] = f.Float32()
	}
}

func (f *filler) halves(v *[]float32, n int) {
	f.floats(v, n)
	for i, x := range *v {
		(*v)[i] = RoundHalf(x + 1)
	}
}

// Writing and reading changes no byte and no number.
func TestRoundTrip(t *testing.T) {
	for _, bits := range []int{4, 8} {
		shape := small
		shape.WordBits = bits
		data := random(t, shape)
		m, err := Parse(shape, data)
		require.NoError(t, err)
		again := m.Append(nil)
		require.Equal(t, data, again)
		other, err := Parse(shape, again)
		require.NoError(t, err)
		if !reflect.DeepEqual(m, other) {
			t.Errorf("Parse(Append(m)) differs from m")
		}
	}
}

func TestParseRefuses(t *testing.T) {
	data := random(t, small)
	with := func(change func(*Shape)) Shape { s := small; change(&s); return s }
	for _, tt := range []struct {
		name  string
		shape Shape
		data  []byte
	}{
		{"nothing", small, nil},
		{"half the bytes", small, data[:len(data)/2]},
		{"a byte less", small, data[:len(data)-1]},
		{"a byte more", small, append(data[:len(data):len(data)], 0)},
		{"another shape", with(func(s *Shape) { s.Positions++ }), data},
		{"no layers", with(func(s *Shape) { s.Layers = 0 }), data},
		{"too many layers", with(func(s *Shape) { s.Layers = 1 << 40 }), data},
		{"no positions", with(func(s *Shape) { s.Positions = -1 }), data},
		{"no words", with(func(s *Shape) { s.Vocabulary = 0 }), data},
		{"too many words", with(func(s *Shape) { s.Vocabulary = 1 << 60 }), data},
		{"five bits", with(func(s *Shape) { s.WordBits = 5 }), data},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if m, err := Parse(tt.shape, tt.data); m != nil || !errors.Is(err, ErrFormat) {
				t.Errorf("Parse of %d bytes = %v, %v; want no model and ErrFormat", len(tt.data), m != nil, err)
			}
		})
	}
}

func TestAppendChecksLengths(t *testing.T) {
	m, err := Parse(small, random(t, small))
	require.NoError(t, err)
	m.Layers[0].Up.Bias = m.Layers[0].Up.Bias[1:]
	require.Panics(t, func() { m.Append(nil) })
}

func TestWordRows(t *testing.T) {
	row := make([]float32, Hidden)
	bytes := Words{Bits: 8, Codes: make([]byte, 2*Hidden)}
	for range 2 * Hidden / byteGroup {
		bytes.Scales = AppendHalf(bytes.Scales, 0.5)
	}
	bytes.Codes[Hidden+1], bytes.Codes[2*Hidden-1] = 3, 0xff
	bytes.Row(row, 1)
	require.Equal(t, []float32{0, 1.5, 0, -0.5}, []float32{row[0], row[1], row[2], row[Hidden-1]})

	words := Words{Bits: 4, Codes: make([]byte, Hidden)}
	for range 2 * Hidden / nibbleGroup {
		words.Scales = AppendHalf(words.Scales, -2)
	}
	words.Codes[Hidden/2] = 0x9f // numbers 0 and 16 of the second word
	words.Row(row, 1)
	require.Equal(t, []float32{-14, 16, -2}, []float32{row[0], row[1], row[16]})
}

func TestRoundHalf(t *testing.T) {
	for _, tt := range []struct{ in, want float32 }{
		{0, 0},
		{1, 1},
		{-2.5, -2.5},
		{1 + 1.0/1024, 1 + 1.0/1024},
		{1 + 1.0/2048, 1},                       // half way: to even
		{1 + 3.0/2048, 1 + 2.0/1024},            // half way: to even
		{1 + 1.0/2048 + 1e-6, 1 + 1.0/1024},     // a little more
		{2 - 1.0/4096, 2},                       // up into the next power of two
		{65504, 65504},                          // the largest
		{1.0 / 16384, 1.0 / 16384},              // the smallest
		{float32(math.Pi) / 1000, 0.0031414032}, // 1647/524288
	} {
		if got := RoundHalf(tt.in); got != tt.want {
			t.Errorf("RoundHalf(%v) = %v, want %v", tt.in, got, tt.want)
		}
	}
	for _, v := range []float32{1e-5, 70000, float32(math.Inf(1)), float32(math.NaN())} {
		require.Panics(t, func() { RoundHalf(v) }, "RoundHalf(%v)", v)
	}
}

// Rounding changes no half.
func TestHalves(t *testing.T) {
	for h := range 1 << 16 {
		exponent := h >> 10 & 31
		if exponent == 0 || exponent == 31 {
			continue
		}
		if got := toHalf(Half(uint16(h))); got != uint16(h) {
			t.Errorf("toHalf(Half(%#04x)) = %#04x", h, got)
		}
	}
}
