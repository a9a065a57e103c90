//go:build lancedb

package changelog

import (
	"path/filepath"
	"testing"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/storetest"
)

func TestIsAChangelog(t *testing.T) {
	dir := t.TempDir()
	storetest.TestChangelog(t, func(t *testing.T, name string) store.Changelog { return Open(filepath.Join(dir, name)) })
}
