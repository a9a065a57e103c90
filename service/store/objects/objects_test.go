package objects

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/store"
	"github.com/memcore/memcore/service/store/storetest"
)

func TestFolder(t *testing.T) { testObjects(t, Place{URI: filepath.Join(t.TempDir(), "storage")}) }

func testObjects(t *testing.T, at Place) {
	storetest.TestObjects(t, func(t *testing.T) store.Objects {
		all, err := Open(at)
		require.NoError(t, err)
		return all
	})
}

func TestPlacesThatAreNone(t *testing.T) {
	for _, at := range []Place{{URI: "gs://bucket"}, {URI: "s3://"}, {URI: "s3://bucket", Endpoint: "storage:9000"}} {
		_, err := Open(at)
		require.Error(t, err, "%+v", at)
	}
}
