//go:build lancedb

package app

import (
	"strings"

	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/shared"
	"github.com/memcore/memcore/store/lancedb/storage"
)

// openShared opens the table that memories share.
func openShared(s config.Settings, dimension int) (store.Shared, error) {
	if strings.Contains(s.Shared.URI, "://") {
		err := storage.SetEnvironment(storage.Endpoint{URL: s.Shared.Endpoint, Region: s.Shared.Region,
			PathStyle: s.Shared.PathStyle, AllowHTTP: s.Shared.AllowHTTP})
		if err != nil {
			return nil, err
		}
	}
	return shared.Open(s.Shared.URI, shared.Options{Dimension: dimension})
}
