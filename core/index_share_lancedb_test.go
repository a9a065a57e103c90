//go:build lancedb

package core_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/shared"
)

func init() {
	sharedStorages["lancedb"] = func(t *testing.T) func() store.Shared {
		uri := filepath.Join(t.TempDir(), "shared")
		return func() store.Shared {
			table, err := shared.Open(uri, shared.Options{Dimension: hashDimension})
			require.NoError(t, err)
			return table
		}
	}
}
