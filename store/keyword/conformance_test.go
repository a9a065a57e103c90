package keyword_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/keyword"
	"github.com/memcore/memcore/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.TestKeywordIndex(t, func(t *testing.T, dir string) store.KeywordIndex {
		index, err := keyword.Open(t.Context(), dir)
		require.NoError(t, err)
		return index
	})
}
