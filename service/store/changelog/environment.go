//go:build lancedb

package changelog

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/memcore/memcore/service/store/objects"
)

// setEnvironment puts an endpoint where LanceDB looks when it first connects: into the environment.
// It keeps set variables.
func setEnvironment(at objects.Place) error {
	values := map[string]string{"AWS_REGION": at.Region}
	if at.Region == "" {
		values["AWS_REGION"] = "us-east-1"
	}
	if at.Endpoint != "" { // not Amazon's, which has the bucket in the host's name
		values["AWS_ENDPOINT"] = at.Endpoint
		values["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"] = "false"
		values["AWS_ALLOW_HTTP"] = strconv.FormatBool(strings.HasPrefix(at.Endpoint, "http://"))
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
