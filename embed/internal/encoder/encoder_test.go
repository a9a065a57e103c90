package encoder

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed/internal/encoder/kernel"
	"github.com/memcore/memcore/internal/model/weights"
)

// fake returns an encoder of six layers with random weights, whose tokens are bytes.
func fake(t testing.TB) *Encoder {
	t.Helper()
	shape := weights.Shape{Layers: 6, Positions: 258, Vocabulary: 256, WordBits: 8}
	return New(Model{Weights: randomWeights(t, shape), Tokenizer: letters{}, First: 1, Last: 2}, kernel.Best())
}

func randomWeights(t testing.TB, shape weights.Shape) *weights.Model {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	numbers := func(n int, mean, spread float32) []float32 {
		all := make([]float32, n)
		for i := range all {
			all[i] = mean + spread*(r.Float32()-0.5)
		}
		return all
	}
	codes := func(n int) []byte {
		all := make([]byte, n)
		for i := range all {
			all[i] = byte(r.Uint32()%255) + 1
		}
		return all
	}
	norm := func() weights.Norm {
		return weights.Norm{Gain: numbers(hidden, 1, 0.1), Bias: numbers(hidden, 0, 0.1)}
	}
	matrix := func(in, out int) weights.Matrix {
		return weights.Matrix{In: in, Out: out, Bias: numbers(out, 0, 0.1), Scales: numbers(in*out/weights.Group, 0.001, 0.0005), Codes: codes(in * out)}
	}
	m := &weights.Model{Shape: shape, Places: numbers(shape.Positions*hidden, 0, 0.1), Norm: norm()}
	m.Words = weights.Words{Bits: 8, Codes: codes(shape.Vocabulary * hidden)}
	for range shape.Vocabulary * hidden / weights.WordGroup {
		m.Words.Scales = weights.AppendHalf(m.Words.Scales, 0.01)
	}
	for range shape.Layers {
		m.Layers = append(m.Layers, weights.Layer{
			QueryKeyValue: matrix(hidden, 3*hidden), Attention: matrix(hidden, hidden), AttentionNorm: norm(),
			Up: matrix(hidden, weights.Intermediate), Down: matrix(weights.Intermediate, hidden), DownNorm: norm()})
	}
	return m
}

// letters takes each byte for a token.
type letters struct{}

func (letters) Append(ids []int32, text string, limit int) []int32 {
	for _, c := range []byte(text[:min(len(text), limit)]) {
		ids = append(ids, int32(c))
	}
	return ids
}

func (letters) Count(text string) int { return len(text) }

func TestManyTexts(t *testing.T) {
	e := fake(t)
	few := []string{"a", "bc", "d"}
	many := make([]string, wave+3)
	for i := range many {
		many[i] = few[i%len(few)]
	}
	vecs, err := e.Embed(t.Context(), "", many)
	require.NoError(t, err)
	for i := range many {
		if !slices.Equal(vecs[i], vecs[i%len(few)]) {
			t.Fatalf("vector %d differs from vector %d of the same text", i, i%len(few))
		}
	}
}

// A prefix is as if it stood in the text, and counts.
func TestPrefix(t *testing.T) {
	e := fake(t)
	with, err := e.Embed(t.Context(), "to find: ", []string{"a", strings.Repeat("b", 300)})
	require.NoError(t, err)
	without, err := e.Embed(t.Context(), "", []string{"to find: a", "to find: " + strings.Repeat("b", 300), "a"})
	require.NoError(t, err)
	require.Equal(t, without[:2], with)
	require.NotEqual(t, without[2], with[0])
}

func TestCutBatches(t *testing.T) {
	sized := func(sizes ...int) []text {
		var out []text
		for _, n := range sizes {
			out = append(out, text{ids: make([]int32, n)})
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		procs int
		sizes []int
		want  string
	}{
		{"one text", 4, []int{9}, "[[9]]"},
		{"longest first", 1, []int{3, 9, 5}, "[[9 5 3]]"},
		{"a batch for every processor", 2, []int{5, 5, 5, 5}, "[[5 5] [5 5]]"},
		{"no more than a batch holds", 1, []int{200, 100, 100, 50}, "[[200] [100 100 50]]"},
		{"more processors than texts", 8, []int{4, 4}, "[[4] [4]]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got [][]int
			for _, b := range cutBatches(sized(tt.sizes...), tt.procs) {
				var sizes []int
				for _, x := range b {
					sizes = append(sizes, len(x.ids))
				}
				got = append(got, sizes)
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("group of %v for %d processors = %v, want %s", tt.sizes, tt.procs, got, tt.want)
			}
		})
	}
}
