//go:build !lancedb

package main

import "github.com/memcore/memcore/store"

// openShared opens nothing: this build does not have what shares memories.
func openShared(settings, int) (store.Shared, error) { return nil, nil }
