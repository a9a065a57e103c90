package soak_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
	"github.com/memcore/memcore/lab/torture/soak"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func TestTrend(t *testing.T) {
	begin, end, err := soak.Trend([]float64{0, 1, 2, 3}, []float64{5, 5, 5, 5})
	require.NoError(t, err)
	require.InDelta(t, 5, begin, 1e-9)
	require.InDelta(t, 5, end, 1e-9)
	begin, end, err = soak.Trend([]float64{10, 20, 30}, []float64{1, 5, 3}) // the middle tilts nothing
	require.NoError(t, err)
	require.InDelta(t, 2, begin, 1e-9)
	require.InDelta(t, 4, end, 1e-9)
	for _, xs := range [][]float64{nil, {1}, {1, 1}} {
		_, _, err = soak.Trend(xs, make([]float64, len(xs)))
		require.Error(t, err)
	}
}
