package weights

import (
	"errors"
	"math"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func file(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../../minilm.bin")
	require.NoError(t, err)
	return data
}

// Writing and reading changes no byte and no number.
func TestRoundTrip(t *testing.T) {
	data := file(t)
	m, err := Parse(data)
	require.NoError(t, err)
	again := m.Append(nil)
	require.Equal(t, len(data), len(again))
	if string(data) != string(again) {
		t.Errorf("Append(Parse(file)) differs from the file")
	}
	other, err := Parse(again)
	require.NoError(t, err)
	if !reflect.DeepEqual(m, other) {
		t.Errorf("Parse(Append(m)) differs from m")
	}
}

func TestParseRefuses(t *testing.T) {
	data := file(t)
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"nothing", nil},
		{"a few bytes", data[:10]},
		{"the first line alone", data[:len(magic)]},
		{"half a file", data[:len(data)/2]},
		{"a byte less", data[:len(data)-1]},
		{"a byte more", append(data[:len(data):len(data)], 0)},
		{"another format", append([]byte("memcore minilm 1\n"), data[len(magic):]...)},
		{"a vocabulary longer than the file", append([]byte(magic), 0xff, 0xff, 0xff, 0xff)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if m, err := Parse(tt.data); m != nil || !errors.Is(err, ErrFormat) {
				t.Errorf("Parse of %d bytes = %v, %v; want no model and ErrFormat", len(tt.data), m != nil, err)
			}
		})
	}
}

func TestAppendChecksLengths(t *testing.T) {
	m, err := Parse(file(t))
	require.NoError(t, err)
	m.Layers[3].Up.Bias = m.Layers[3].Up.Bias[1:]
	require.Panics(t, func() { m.Append(nil) })
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
		if got := toHalf(fromHalf(uint16(h))); got != uint16(h) {
			t.Errorf("toHalf(fromHalf(%#04x)) = %#04x", h, got)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	data := file(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
