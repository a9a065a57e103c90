package relevance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTurnModel(t *testing.T) {
	m := ForTurns()
	require.NotEmpty(t, m.Fitted)
	require.Greater(t, m.Least, 0.0)
	require.Less(t, m.Least, 1.0)
	for name := range m.Weights {
		require.Contains(t, TurnNames, name)
	}
	require.Positive(t, m.Scale)
	require.GreaterOrEqual(t, m.Lead, 0.0)
	require.Less(t, m.WorthOfWords(0), m.Least, "a candidate that holds nothing of the prompt")
	require.Greater(t, m.WorthOfWords(mostHeld), m.Least)
}

// A value rises with nearness and words, and falls with what came later.
func TestValue(t *testing.T) {
	m, minilm := ForTurns(), For("minilm/all-MiniLM-L6-v2/1")
	value := func(change func(*Candidate)) float64 {
		cosine := 0.5
		c := Candidate{Speaker: "assistant", Tokens: 100, BM25: 3, Cosine: &cosine}
		change(&c)
		return m.Value(minilm.TurnTerms(c, 6))
	}
	plain := value(func(*Candidate) {})
	nearer := 0.6
	require.Greater(t, value(func(c *Candidate) { c.Cosine = &nearer }), plain)
	require.Greater(t, value(func(c *Candidate) { c.BM25 = 6 }), plain)
	require.Less(t, value(func(c *Candidate) { c.Later = 5 }), plain)
	require.Less(t, value(func(c *Candidate) { c.Cosine = nil }), plain)
}

func TestLead(t *testing.T) {
	values := []float64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2}
	require.InDelta(t, 9, Lead(12, values), 1e-9)
	require.InDelta(t, 2, Lead(12, values[:3]), 1e-9)
	require.Zero(t, Lead(12, nil))
	m := ForTurns()
	require.Greater(t, m.Worth(2, 2), m.Worth(2, 1))
	require.Greater(t, m.Worth(3, 1), m.Worth(2, 1))
}

// Nearness has two fixed points on each embedder's scale.
func TestNearness(t *testing.T) {
	for _, fingerprint := range []string{"minilm/all-MiniLM-L6-v2/1", "pack/multilingual-e5-small/1", "openai/x"} {
		m := For(fingerprint)
		near := m.Near
		if near == 0 {
			near = leastNear
		}
		require.InDelta(t, leastNear, m.Nearness(near), 1e-9, fingerprint)
		require.InDelta(t, 1, m.Nearness(1), 1e-9, fingerprint)
	}
}

func TestNow(t *testing.T) {
	m := ForTurns()
	require.Less(t, m.Earlier, 0.0)
	before := 0.3
	for _, earlier := range []int{0, 1, 5, 50} {
		now := m.Now(Query{Earlier: earlier}, 0.3)
		if earlier == 0 {
			require.InDelta(t, before, now, 1e-9)
		} else {
			require.Less(t, now, before, "%d earlier prompts", earlier)
		}
		before = now
	}
	require.Positive(t, before)
	require.Equal(t, 0.0, m.Now(Query{Earlier: 9}, 0))
	require.Equal(t, 1.0, m.Now(Query{Earlier: 9}, 1))
	require.InDelta(t, 0.3, m.Now(Query{Earlier: -1}, 0.3), 1e-9)
}

// What is near is so on each embedder's own scale.
func TestHoldsMost(t *testing.T) {
	q := Query{Chunks: 1000, Words: []Word{{Text: "pangolin", Records: 2}, {Text: "rota", Records: 3}}}
	telling := []float64{1, 1}
	at := func(cosine float64, holds uint64) Candidate { return Candidate{Cosine: &cosine, Holds: holds} }
	for _, tt := range []struct {
		fingerprint string
		cosine      float64
		holds       uint64
		want        bool
	}{
		{"minilm/all-MiniLM-L6-v2/1", 0.45, 3, true},
		{"minilm/all-MiniLM-L6-v2/1", 0.35, 3, false},
		{"minilm/all-MiniLM-L6-v2/1", 0.9, 1, false},
		{"pack/multilingual-e5-small/1", 0.85, 3, true},
		{"pack/multilingual-e5-small/1", 0.78, 3, false},
		{"openai/x", 0.45, 3, true},
		{"openai/x", 0.35, 3, false},
	} {
		require.Equal(t, tt.want, For(tt.fingerprint).HoldsMost(telling, q, at(tt.cosine, tt.holds)), "%s at %g", tt.fingerprint, tt.cosine)
	}
	require.True(t, Keywords().HoldsMost(telling, q, Candidate{Holds: 3}), "without vectors, words decide")
	own := shipped()[otherFile].Cosines
	require.InDelta(t, leastNear, own.Near(), 1e-3)
}
