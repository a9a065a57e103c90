//go:build !lancedb

package objects

import (
	"fmt"

	"github.com/memcore/memcore/service/store"
)

// openBucket fails, since only builds with LanceDB have a use for a bucket.
func openBucket(at Place) (store.Objects, error) {
	return nil, fmt.Errorf("storage %s: this build has no LanceDB, with which storage other than a folder comes", at.URI)
}
