package relevance

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The same evidence means the same in memories of any size.
func TestCertaintyOfAnySize(t *testing.T) {
	words := []Word{{Text: "who"}, {Text: "keeps", Records: 1}, {Text: "pangolin", Records: 1}, {Text: "rota", Records: 1}}
	of := func(chunks int) Certainty {
		return CertaintyOf(Query{Text: "who keeps the pangolin rota", Words: words, Chunks: chunks}, []Ranked{
			{Candidate: Candidate{ID: "a", Holds: 0b1110}}, {Candidate: Candidate{ID: "b"}}})
	}
	small, large := of(5), of(5000)
	require.InDelta(t, small.Share, large.Share, 0.1)
	require.InDelta(t, small.Mass, large.Mass, 0.5)
}

// A rare word says more, even in a small memory.
func TestWeigh(t *testing.T) {
	weights, total := weigh(Query{Chunks: 5, Words: []Word{{Text: "time", Records: 1}, {Text: "pangolins", Records: 1}, {Text: "pangolin", Records: 5}, {Text: "getCacheStats", Compound: true}}})
	require.Greater(t, weights[1], 2*weights[0])
	require.Greater(t, weights[2], weights[0], "although each chunk holds it")
	require.Zero(t, weights[3], "its parts say all there is")
	require.InDelta(t, weights[0]+weights[1]+weights[2], total, 1e-12)
	require.Equal(t, shareOf("Deploy"), shareOf("deploy"))
}

func TestUnknown(t *testing.T) {
	for _, tt := range []struct {
		text           string
		words          []Word
		names, numbers float64
	}{
		{"What did Gina say?", []Word{{Text: "Gina"}, {Text: "say"}}, 1, 0},
		{"What did Gina tell Jon?", []Word{{Text: "Gina"}, {Text: "Jon", Records: 3}}, 0.5, 0},
		{"Gina said what?", []Word{{Text: "Gina"}}, 0, 0}, // any word begins a sentence with a capital
		{"Hm. Gina said what?", []Word{{Text: "Gina"}}, 0, 0},
		{"what was in 2019 and 2020, 2021", []Word{{Text: "2019"}, {Text: "2020"}, {Text: "2021"}}, 0, 2},
		{"what was in 2019", []Word{{Text: "2019", Records: 1}}, 0, 0},
		{"", nil, 0, 0},
		{"x", []Word{{Text: "not in it"}, {Text: ""}}, 0, 0},
	} {
		names, numbers := unknown(Query{Text: tt.text, Words: tt.words})
		require.Equal(t, [2]float64{tt.names, tt.numbers}, [2]float64{names, numbers}, tt.text)
	}
}

// A name that memory holds nowhere makes it less sure.
func TestUnknownNameCounts(t *testing.T) {
	for _, m := range []*Model{For("minilm/all-MiniLM-L6-v2/"), For("x"), Keywords()} {
		known := Certainty{Cosine: 0.4, Share: 0.4, Mass: 2}
		other := known
		other.UnknownNames = 1
		require.Less(t, m.Calibrated(other, Distance{}), m.Calibrated(known, Distance{}))
	}
}

// A chunk without a vector is judged by words alone.
func TestCandidateWithoutVector(t *testing.T) {
	q := Query{Text: "who keeps the pangolin rota", Chunks: 20, Ceiling: 10, BestDocument: 9, Vectors: true,
		Words: []Word{{Text: "keeps", Records: 1}, {Text: "pangolin", Records: 1}, {Text: "rota", Records: 1}}}
	near := []Candidate{{ID: "near", Path: "b", Cosine: cosine(0.2)}, {ID: "nearer", Path: "c", Cosine: cosine(0.25)}}
	fresh := Candidate{ID: "new", Path: "a", BM25: 9, Document: 9, Tokens: 12, Holds: 0b111}
	m := For("minilm/all-MiniLM-L6-v2/")
	ranked := m.Rank(q, append(near, fresh))
	require.Equal(t, "new", ranked[0].ID)
	require.Greater(t, ranked[0].Score, m.Threshold)
	require.Less(t, ranked[1].Score, m.Threshold, "what is beside it gains nothing")
}

// A rare word suffices without nearness; a common one does not.
func TestRareWordAlone(t *testing.T) {
	score := func(word string) float64 {
		q := Query{Text: word, Chunks: 20, Ceiling: 6, BestDocument: 3, Vectors: true, Words: []Word{{Text: word, Records: 1}}}
		return For("minilm/all-MiniLM-L6-v2/").Rank(q, []Candidate{
			{ID: "it", BM25: 3, Document: 3, Cosine: cosine(0.1), Holds: 1}, {ID: "near", Path: "b", Cosine: cosine(0.12)}})[0].Score
	}
	threshold := For("minilm/all-MiniLM-L6-v2/").Threshold
	require.Greater(t, score("Unleash"), threshold)
	require.Less(t, score("time"), threshold)
}

// A scale makes cosines of any embedder comparable.
func TestScale(t *testing.T) {
	reference := For("x").Cosines
	require.NotEmpty(t, reference)
	warped := Scale{}
	for _, c := range reference {
		warped = append(warped, 0.7+0.3*c)
	}
	for _, c := range []float64{-0.9, -0.1, 0, 0.3, 0.55, 0.9} {
		require.InDelta(t, c, warped.On(reference, 0.7+0.3*c), 1e-9)
	}
	require.Equal(t, 1.0, Scale(reference).On(reference, 3))

	near, far := 0.9, 0.75
	q := Query{Vectors: true}
	candidates := []Candidate{{ID: "near", Cosine: &near}, {ID: "far", Cosine: &far}, {ID: "none"}}
	_, rescaled := For("x").Rescaled(q, candidates, warped)
	require.InDelta(t, (0.9-0.7)/0.3, *rescaled[0].Cosine, 1e-9)
	require.Nil(t, rescaled[2].Cosine)
	require.Equal(t, 0.9, *candidates[0].Cosine, "the caller's are as they were")
	q, _ = For("x").Rescaled(q, candidates, nil)
	require.False(t, q.Vectors, "of unknown cosines nothing is concluded")
	q, same := For("minilm/all-MiniLM-L6-v2/").Rescaled(Query{Vectors: true}, candidates, nil)
	require.True(t, q.Vectors)
	require.Equal(t, 0.9, *same[0].Cosine)
}

func TestMeasure(t *testing.T) {
	questions, texts := Anchors()
	require.Len(t, texts, len(questions))
	for i := range texts {
		require.NotEmpty(t, texts[i], questions[i])
	}
	letters := func(_ context.Context, texts []string) (all [][]float32, _ error) {
		for _, text := range texts {
			v := make([]float32, 26)
			for _, r := range strings.ToLower(text) {
				if 'a' <= r && r <= 'z' {
					v[r-'a']++
				}
			}
			all = append(all, v)
		}
		return all, nil
	}
	scale, err := Measure(t.Context(), letters, letters)
	require.NoError(t, err)
	require.True(t, scale.usable())
	same := func(_ context.Context, texts []string) (all [][]float32, _ error) {
		for range texts {
			all = append(all, []float32{1, 0})
		}
		return all, nil
	}
	_, err = Measure(t.Context(), same, same)
	require.ErrorIs(t, err, ErrScale)
	_, err = Measure(t.Context(), letters, func(context.Context, []string) ([][]float32, error) { return nil, fmt.Errorf("away") })
	require.ErrorContains(t, err, "scale of cosines: away")
}

func TestWhy(t *testing.T) {
	q := Query{Text: "what did Gina say of rain", Chunks: 9, Vectors: true, Words: []Word{{Text: "Gina"}, {Text: "say", Records: 2}, {Text: "rain", Records: 1}, {Text: "show"}, {Text: "snow"}}}
	m := For("minilm/all-MiniLM-L6-v2/")
	require.Regexp(t, `^the nearest has cosine 0\.40, 0\.20 more than what is near by chance; one chunk holds \d\d % of what the question's words say; not in any chunk: Gina, snow$`,
		m.Why(q, []Candidate{{ID: "a", Cosine: cosine(0.4), Holds: 0b110}}, func(word string) bool { return word == "show" }))
	require.NotContains(t, m.Why(Query{Text: "x"}, nil, nil), "cosine")
}

func TestCost(t *testing.T) {
	before := math.Inf(1)
	for _, chunks := range []int{0, 1, 50, 100, 500, 1000, 1e6} {
		cost := Cost(chunks)
		require.LessOrEqual(t, cost, before)
		require.Positive(t, cost)
		before = cost
	}
}
