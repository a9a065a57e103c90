//go:build lancedb

package changelog

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"
)

// advice is by the storage's error code.
var advice = map[string]string{
	"AccessDenied":          "the key must be allowed to list, read, write and delete there",
	"ExpiredToken":          "renew AWS_SESSION_TOKEN",
	"InvalidAccessKeyId":    "check AWS_ACCESS_KEY_ID",
	"NoSuchBucket":          "make the bucket, or correct the URI",
	"SignatureDoesNotMatch": "check AWS_SECRET_ACCESS_KEY and the region",
}

// explain adds advice to a storage's error.
func explain(err error) error {
	_, answer, found := strings.Cut(err.Error(), "non-2xx status code: ")
	if !found {
		return err
	}
	for code, do := range advice {
		if strings.Contains(answer, code) {
			answer = strings.TrimSuffix(answer, ".") + "; " + do
		}
	}
	return errors.New("the storage refuses: " + answer)
}

// dialTimeout bounds a server's accepting a connection.
const dialTimeout = 5 * time.Second

// reachable fails at once without a server at the endpoint, which LanceDB would try for minutes. It
// does not check behind a proxy, or without an endpoint.
func reachable(ctx context.Context, uri string) error {
	endpoint, err := url.Parse(os.Getenv("AWS_ENDPOINT"))
	if !strings.HasPrefix(uri, "s3://") || err != nil || endpoint.Host == "" || behindProxy() {
		return nil
	}
	port := endpoint.Port()
	if port == "" {
		port = map[string]string{"http": "80"}[endpoint.Scheme]
	}
	if port == "" {
		port = "443"
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(endpoint.Hostname(), port))
	if err != nil {
		return fmt.Errorf("the storage cannot be reached: %w", err)
	}
	return conn.Close()
}

func behindProxy() bool {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}
