package relevance

import (
	"slices"
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
	evidence := func(held float64) []float64 {
		e := make([]float64, len(TurnNames))
		e[slices.Index(TurnNames, "held")] = held
		return e
	}
	require.Less(t, m.Worth(evidence(0)), m.Least, "a candidate that holds nothing of the prompt")
	require.Greater(t, m.Worth(evidence(mostHeld)), m.Worth(evidence(1)))
}
