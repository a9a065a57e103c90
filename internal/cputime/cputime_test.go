//go:build unix

package cputime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLeast(t *testing.T) {
	runs := 0
	waiting := Least(3, func() { runs++; time.Sleep(50 * time.Millisecond) })
	require.Equal(t, 3, runs)
	require.Less(t, waiting, 25*time.Millisecond, "waiting is no work")
	spinning := Least(1, func() {
		for began := used(); used() < began+20*time.Millisecond; {
		}
	})
	require.GreaterOrEqual(t, spinning, 20*time.Millisecond)
}
