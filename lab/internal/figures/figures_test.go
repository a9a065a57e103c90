package figures

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantile(t *testing.T) {
	times := []time.Duration{3, 1, 2, 4}
	require.Equal(t, time.Duration(3), Quantile(times, .5))
	require.Equal(t, time.Duration(4), Quantile(times, .99))
	require.Equal(t, time.Duration(4), Quantile(times, 1))
	require.Zero(t, Quantile(nil, .5))
	require.NotEmpty(t, Processor())
}
