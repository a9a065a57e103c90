//go:build lancedb

package objects

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBucket runs against a real S3-compatible server (.ci/real-minio.sh).
func TestBucket(t *testing.T) {
	program := os.Getenv("MEMCORE_TEST_MINIO")
	if program == "" {
		t.Skip("MEMCORE_TEST_MINIO is not set: objects on S3-compatible storage are NOT tested")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address, data := listener.Addr().String(), t.TempDir()
	require.NoError(t, listener.Close())
	require.NoError(t, os.Mkdir(filepath.Join(data, "bucket"), 0o755)) // MinIO keeps a bucket as a folder
	server := exec.Command(program, "server", "--quiet", "--address", address, data)
	server.Env = append(os.Environ(), "MINIO_ROOT_USER=objects", "MINIO_ROOT_PASSWORD=objects-secret", "MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME="+data)
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // it was killed
	})
	require.Eventually(t, func() bool {
		answer, err := http.Get("http://" + address + "/minio/health/ready")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, 30*time.Second, 50*time.Millisecond)
	t.Setenv("AWS_ACCESS_KEY_ID", "objects")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "objects-secret")
	testObjects(t, Place{URI: "s3://bucket/a/prefix", Endpoint: "http://" + address})
}
