package fit

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed/embedtest"
	"github.com/memcore/memcore/lab/internal/sets"
)

func TestModelFor(t *testing.T) {
	s := sample(2, 100)
	embedder := embedtest.BagOfWords{Dim: 256}
	vectors := Options{Vectors: true, Absolute: true}
	own, err := ModelFor(t.Context(), s, ForEmbedder, embedder, nil, vectors)
	require.NoError(t, err)
	require.Equal(t, []string{embedder.Fingerprint()}, own.Embedders)
	scale, err := core.MeasureScale(t.Context(), embedder)
	require.NoError(t, err)
	require.InDelta(t, scale.Near(), own.Near, 1e-9)
	named, err := ModelFor(t.Context(), s, ForEmbedder, embedder, []string{"kin/"}, vectors)
	require.NoError(t, err)
	require.Equal(t, []string{"kin/"}, named.Embedders)
	keywords, err := ModelFor(t.Context(), s, ForKeywords, embedder, []string{"kin/"}, Options{})
	require.NoError(t, err)
	require.Empty(t, keywords.Embedders)
	others, err := ModelFor(t.Context(), s, ForOthers, embedder, nil, Options{Vectors: true, Absolute: true, Scripts: []string{"Latin"}, Languages: []string{"en"}})
	require.NoError(t, err)
	require.Empty(t, others.Embedders)
	require.Empty(t, others.Scripts)
	require.NotZero(t, others.Cosines)

	text, err := Encode(own)
	require.NoError(t, err)
	require.Regexp(t, `\n +\[[0-9.]+, [0-9.]+\]`, string(text), "a point is on one line")
	var again relevance.Model
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, own.Calibration, again.Calibration)
}

func TestTable(t *testing.T) {
	s := sample(2, 200)
	o := Options{Vectors: true, Absolute: true}
	left, err := s.LeftOut(o, Model)
	require.NoError(t, err)
	table := s.Table("left out", func(source string) *relevance.Model { return left[source] }, o)
	require.Regexp(t, `(?m)^ *set0 +150 +[01]\.\d{3} `, table)
}

// Shares are of the questions of a kind: of small talk there is no column, of sisters no question.
func TestDecided(t *testing.T) {
	s := sample(1, 40)
	for i := range s.Questions {
		s.Questions[i].Query.Words = nil // of which a question may consist
	}
	never := &relevance.Model{Weights: map[string]float64{"keywords": 1}, Threshold: 0.99}
	got := s.decided(func(string) *relevance.Model { return never })["set0"].figures()
	require.Equal(t, 1.0, got[0], "all get nothing")
	require.True(t, math.IsNaN(got[1]) && math.IsNaN(got[3]), "%v", got)
	always := &relevance.Model{Weights: map[string]float64{"keywords": 1}, Score: relevance.Logistic{Bias: 50}, Threshold: 0.5}
	got = s.decided(func(string) *relevance.Model { return always })["set0"].figures()
	require.Zero(t, got[0])
	require.Greater(t, got[1], 0.5)
	require.InDelta(t, 1-got[1], got[5], 1e-9, "all scores are 1")
}

func TestWithMixed(t *testing.T) {
	house, err := sets.Collections("../sets/testdata/house")
	require.NoError(t, err)
	other := house[0]
	other.Name = "flat/diary"
	same, err := WithMixed(append(house, other), nil)
	require.NoError(t, err)
	require.Len(t, same, 2)
	same, err = WithMixed(house, []int{5})
	require.NoError(t, err)
	require.Len(t, same, 1)
	mixed, err := WithMixed(append(house, other), []int{5})
	require.NoError(t, err)
	require.Len(t, mixed, 2+mixedEach)
}

func TestReadSmallTalk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "small-talk.txt")
	require.NoError(t, os.WriteFile(file, []byte("Thanks!\r\n\nOK"), 0o600))
	lines, err := ReadSmallTalk(file)
	require.NoError(t, err)
	require.Equal(t, []string{"Thanks!", "OK"}, lines)
}

func TestKept(t *testing.T) {
	s := sample(2, 5)
	s.Questions[0].Candidates[0].Before = "Ada: " + s.Questions[0].Candidates[0].Text
	path := filepath.Join(t.TempDir(), "sample")
	require.NoError(t, s.Keep(path))
	require.NotEmpty(t, s.Questions[0].Candidates[0].Text, "the sample itself is left as it is")
	again, err := Kept(path)
	require.NoError(t, err)
	require.Equal(t, s, again)
	_, err = Kept(path + "-none")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("no sample"), 0o600))
	_, err = Kept(path)
	require.ErrorContains(t, err, "kept sample")
}
