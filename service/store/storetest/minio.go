package storetest

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

// MinIOVariable names the executable of a real S3-compatible server (service/.ci/minio).
const MinIOVariable = "MEMCORE_TEST_MINIO"

// StartMinIO starts the server until the test ends, and puts its keys into the environment. It
// returns its URL and the folder in which it keeps a new bucket; beside that is what MinIO itself
// keeps. Without a server the test is skipped.
func StartMinIO(t *testing.T, bucket string) (url, folder string) {
	t.Helper()
	program := os.Getenv(MinIOVariable)
	if program == "" {
		t.Skipf("%s is not set: object storage is NOT tested (service/.ci/minio makes a server)", MinIOVariable)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address, data := listener.Addr().String(), t.TempDir()
	require.NoError(t, listener.Close())
	folder = filepath.Join(data, bucket)
	require.NoError(t, os.Mkdir(folder, 0o755)) // MinIO keeps a bucket as a folder
	const user, password = "storetest", "storetest-secret"
	server := exec.Command(program, "server", "--quiet", "--address", address, data)
	server.Env = append(os.Environ(), "MINIO_ROOT_USER="+user, "MINIO_ROOT_PASSWORD="+password, "MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME="+data)
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
	}, 30*time.Second, 50*time.Millisecond, "MinIO does not get ready")
	t.Setenv("AWS_ACCESS_KEY_ID", user)
	t.Setenv("AWS_SECRET_ACCESS_KEY", password)
	return "http://" + address, folder
}
