package fit

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Questions in another language have a model of their own, which nearness decides.
func TestAcross(t *testing.T) {
	s := sample(3, 40)
	o := Options{Vectors: true, Absolute: true}
	for i := range s.Questions {
		s.Questions[i].Query.Across = i%2 == 0
	}
	plain, err := Model(s, o)
	require.NoError(t, err)
	require.Nil(t, plain.Across)
	o.Across = true
	m, err := Model(s, o)
	require.NoError(t, err)
	require.NotNil(t, m.Across)
	require.Greater(t, m.Across.Weights["cosine"], m.Across.Weights["coverage"])
	require.Zero(t, m.Across.Weights["keywords"])
	require.Empty(t, m.Across.Kinds)
	text, err := Encode(m)
	require.NoError(t, err)
	require.Contains(t, string(text), `"across": {`)

	for i := range s.Questions {
		s.Questions[i].Query.Across = false
	}
	_, err = Model(s, o)
	require.ErrorContains(t, err, "questions in another language")
}
