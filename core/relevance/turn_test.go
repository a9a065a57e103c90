package relevance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A value rises with nearness and words, and falls with what came later.
func TestValue(t *testing.T) {
	minilm := For("minilm/all-MiniLM-L6-v2/1")
	value := func(change func(*Candidate)) float64 {
		cosine := 0.5
		c := Candidate{Speaker: "assistant", Tokens: 100, BM25: 3, Cosine: &cosine}
		change(&c)
		return minilm.Value(c, 6)
	}
	plain := value(func(*Candidate) {})
	nearer := 0.6
	require.Greater(t, value(func(c *Candidate) { c.Cosine = &nearer }), plain)
	require.Greater(t, value(func(c *Candidate) { c.BM25 = 6 }), plain)
	require.Less(t, value(func(c *Candidate) { c.Later = 5 }), plain)
	require.Less(t, value(func(c *Candidate) { c.Cosine = nil }), plain)
}

// Nearness has two fixed points on each embedder's scale.
func TestNearness(t *testing.T) {
	for _, fingerprint := range []string{"minilm/all-MiniLM-L6-v2/1", "pack/multilingual-e5-small/1", "openai/x"} {
		m := For(fingerprint)
		near := m.Near
		if near == 0 {
			near = minNear
		}
		require.InDelta(t, minNear, m.Nearness(near), 1e-9, fingerprint)
		require.InDelta(t, 1, m.Nearness(1), 1e-9, fingerprint)
	}
}
