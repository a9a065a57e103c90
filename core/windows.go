package core

import (
	"math"
	"slices"
	"time"

	"github.com/memcore/memcore/chunker"
)

// readsWhole tells whether the model reads all of a text.
func (m *Manager) readsWhole(text string) bool {
	return m.options.Embedder.CountTokens(text) <= m.options.Embedder.MaxTokens()
}

// readable is a text as the model can be given it: whole, or cut.
func (m *Manager) readable(text string) []string {
	if !m.readsWhole(text) {
		if parts := m.windows(text); len(parts) > 0 {
			return parts
		}
		return []string{""} // nothing a chunk is made of
	}
	return []string{text}
}

// windows cuts a text into such as the model reads whole, at the borders of sentences and lines where
// that can be.
func (m *Manager) windows(text string) []string {
	limit := m.options.Embedder.MaxTokens()
	options := chunker.Options{Target: limit, Max: limit, Overlap: -1, Count: m.options.Embedder.CountTokens}
	var all []string
	for _, c := range chunker.Markdown("", []byte("\n"+text), options).Chunks { // the newline: no frontmatter
		all = append(all, chunker.EmbeddingText(c.Headings, "", time.Time{}, c.Text))
	}
	return all
}

// meanOf is the mean of vectors, made one long; of one vector it is that vector.
func meanOf(vectors [][]float32) []float32 {
	if len(vectors) == 1 {
		return vectors[0]
	}
	sum := slices.Clone(vectors[0])
	for _, v := range vectors[1:] {
		for i, x := range v {
			sum[i] += x
		}
	}
	square := 0.0
	for _, x := range sum {
		square += float64(x) * float64(x)
	}
	if square == 0 {
		return vectors[0] // opposites: no direction is better than another
	}
	for i := range sum {
		sum[i] /= float32(math.Sqrt(square))
	}
	return sum
}
