//go:build lancedb

package lancedb

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/storetest"
)

func TestIsAVectorIndex(t *testing.T) {
	storetest.TestVectorIndex(t, func(t *testing.T, dir string, dimension int) store.VectorIndex {
		ix, err := Open(t.Context(), dir, dimension, Options{})
		require.NoError(t, err)
		return ix
	})
}
