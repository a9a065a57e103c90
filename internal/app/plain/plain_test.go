package plain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShownAddress(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:11434":       "http://127.0.0.1:11434",
		"http://ada:p@ss@host:1/v1":    "http://host:1/v1",
		"ada:pass@host":                "host",
		"s3://bucket/team":             "s3://bucket/team",
		"https://ada:pass@[::1/broken": "https://[::1/broken",
	} {
		require.Equal(t, want, Address(address))
	}
}
