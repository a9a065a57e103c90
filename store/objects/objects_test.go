package objects

import (
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

func TestFolder(t *testing.T) { testObjects(t, Place{URI: filepath.Join(t.TempDir(), "storage")}) }

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

func testObjects(t *testing.T, at Place) {
	var all store.Objects
	all, err := Open(at)
	require.NoError(t, err)
	_, err = all.Get(t.Context(), "a/b")
	require.ErrorIs(t, err, fs.ErrNotExist)
	for name, text := range map[string]string{"a/b": "one", "a/c/d": "two", "ab/c": "three"} {
		require.NoError(t, all.Put(t.Context(), name, []byte("before")))
		require.NoError(t, all.Put(t.Context(), name, []byte(text)))
		data, err := all.Get(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
	left, err := all.RemoveAll(t.Context(), "a")
	require.NoError(t, err)
	require.Zero(t, left)
	_, err = all.Get(t.Context(), "a/c/d")
	require.ErrorIs(t, err, fs.ErrNotExist)
	data, err := all.Get(t.Context(), "ab/c")
	require.NoError(t, err)
	require.Equal(t, "three", string(data))
}

func TestPlacesThatAreNone(t *testing.T) {
	for _, at := range []Place{{URI: "gs://bucket"}, {URI: "s3://"}, {URI: "s3://bucket", Endpoint: "storage:9000"}} {
		_, err := Open(at)
		require.Error(t, err, "%+v", at)
	}
}
