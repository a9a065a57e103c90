//go:build !lancedb

package app

import (
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/store"
)

// openShared opens nothing, since only LanceDB shares memories.
func openShared(config.Settings, int) (store.Shared, error) { return nil, nil }
