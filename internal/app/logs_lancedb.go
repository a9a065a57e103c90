//go:build lancedb

package app

import (
	"strings"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/changelog"
	"github.com/memcore/memcore/store/lancedb/storage"
	"github.com/memcore/memcore/store/objects"
)

// OpenLogs returns what opens the logs of documents below a place: by their paths.
func OpenLogs(at objects.Place) (func(path string) store.Changelog, error) {
	if strings.Contains(at.URI, "://") {
		err := storage.SetEnvironment(storage.Endpoint{URL: at.Endpoint, Region: at.Region,
			PathStyle: at.Endpoint != "", AllowHTTP: strings.HasPrefix(at.Endpoint, "http://")})
		if err != nil {
			return nil, err
		}
	}
	all, err := objects.Open(at)
	if err != nil {
		return nil, err
	}
	return func(path string) store.Changelog {
		return changelog.Open(strings.TrimSuffix(at.URI, "/")+"/"+path, all, path)
	}, nil
}
