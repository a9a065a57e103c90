//go:build lancedb

package storage

import (
	"fmt"
	"os"
	"strconv"
)

// An Endpoint is an S3-compatible storage, or Amazon's. Keys come from AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN or the machine's role.
type Endpoint struct {
	URL       string // such as https://storage.example:9000; "" is Amazon's
	Region    string // "" is us-east-1
	PathStyle bool   // the bucket is in the path, not in the host's name
	AllowHTTP bool   // without encryption
}

// SetEnvironment puts an endpoint where LanceDB looks when it first connects: into the environment.
// It keeps set variables.
func SetEnvironment(e Endpoint) error {
	values := map[string]string{"AWS_REGION": e.Region}
	if e.Region == "" {
		values["AWS_REGION"] = "us-east-1"
	}
	if e.URL != "" {
		values["AWS_ENDPOINT"] = e.URL
		values["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"] = strconv.FormatBool(!e.PathStyle)
		values["AWS_ALLOW_HTTP"] = strconv.FormatBool(e.AllowHTTP)
	}
	for name, value := range values {
		if os.Getenv(name) != "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}
