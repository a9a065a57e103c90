//go:build lancedb

package changelog

import (
	"strings"

	"github.com/memcore/memcore/service/store"
	"github.com/memcore/memcore/service/store/objects"
)

// Below returns what opens the logs of documents below a place, by their paths.
func Below(at objects.Place) (func(path string) store.Changelog, error) {
	if strings.Contains(at.URI, "://") {
		if err := setEnvironment(at); err != nil {
			return nil, err
		}
	}
	all, err := objects.Open(at)
	if err != nil {
		return nil, err
	}
	return func(path string) store.Changelog {
		return Open(strings.TrimSuffix(at.URI, "/")+"/"+path, all, path)
	}, nil
}
