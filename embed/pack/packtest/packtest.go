// Package packtest makes small model packs for tests.
package packtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed/pack"
	"github.com/memcore/memcore/internal/model/unigram"
	"github.com/memcore/memcore/internal/model/weights"
)

// Small returns a pack with a name, of a layer of zeros and a few pieces: "▁", "a", "b", "query"
// and ":". Queries have the prefix "query: ".
func Small(t testing.TB, name string) []byte {
	t.Helper()
	v := unigram.Vocabulary{
		Pieces: []string{"", "", "", "▁", "a", "b", "query", ":"}, Scores: make([]float32, 8), Unknown: 2, Normal: map[rune]string{'\t': " "}}
	shape := weights.Shape{Layers: 1, Positions: 8, Vocabulary: 8, WordBits: 4}
	w, err := weights.Parse(shape, make([]byte, shape.Bytes()))
	require.NoError(t, err)
	for i := range w.Places {
		w.Places[i] = float32(i%7) - 3
	}
	for _, n := range []weights.Norm{w.Norm, w.Layers[0].AttentionNorm, w.Layers[0].DownNorm} {
		for i := range n.Gain {
			n.Gain[i] = 1
		}
	}
	m := pack.Manifest{Name: name, Licence: "MIT", First: 0, Last: 1, QueryPrefix: "query: ", Languages: []string{"en"},
		Layers: shape.Layers, Positions: shape.Positions, Vocabulary: shape.Vocabulary, WordBits: shape.WordBits}
	data, err := pack.Append(nil, m, v.Append(nil), w.Append(nil))
	require.NoError(t, err)
	return data
}
