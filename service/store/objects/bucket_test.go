//go:build lancedb

package objects

import (
	"testing"

	"github.com/memcore/memcore/service/store/storetest"
)

// TestBucket runs against a real S3-compatible server.
func TestBucket(t *testing.T) {
	url, _ := storetest.StartMinIO(t, "bucket")
	testObjects(t, Place{URI: "s3://bucket/a/prefix", Endpoint: url})
}
