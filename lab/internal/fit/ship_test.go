package fit

import (
	"encoding/json"
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
	s := sample(2, 20)
	require.Regexp(t, `(?m)^ *set0 +15 +[01]\.\d{3} `, s.Table(byKeywords))
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
