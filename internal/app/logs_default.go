//go:build !lancedb

package app

import (
	"errors"

	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/objects"
)

// OpenLogs fails, since only LanceDB keeps logs on shared storage.
func OpenLogs(objects.Place) (func(path string) store.Changelog, error) {
	return nil, kind.Hint(errors.New("this build has no LanceDB, in which a service keeps its documents"), "build it with 'make lancedb'")
}
