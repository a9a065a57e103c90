//go:build !lancedb

package changelog

import (
	"errors"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service/store"
	"github.com/memcore/memcore/service/store/objects"
)

// Below fails, since only LanceDB keeps logs on shared storage.
func Below(objects.Place) (func(path string) store.Changelog, error) {
	return nil, kind.Hint(errors.New("this build has no LanceDB, in which a service keeps its documents"), "build it with 'make -C service lancedb'")
}
