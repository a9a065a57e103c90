//go:build lancedb

package tenants

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/store/objects"
)

func init() {
	storages["folder"] = folderStorage
	if os.Getenv(minioVariable) != "" {
		storages["MinIO"] = minioStorage
	}
}

// minioVariable is the path of a real S3-compatible server's executable (.ci/real-minio.sh).
const minioVariable = "MEMCORE_TEST_MINIO"

func folderStorage(t *testing.T) testStorage {
	dir := t.TempDir()
	return openStorage(t, objects.Place{URI: dir}, dir)
}

// findIn returns what finds a text in the files of a folder. Texts in Lance files are not
// compressed.
func findIn(dir string) func(t *testing.T, text string) string {
	return func(t *testing.T, text string) (found string) {
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte(text)) {
				found = path
			}
			return err
		}))
		return found
	}
}

func minioStorage(t *testing.T) testStorage {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	data, user, password := t.TempDir(), "k"+strconv.FormatUint(rand.Uint64(), 16), "k"+strconv.FormatUint(rand.Uint64(), 16)
	require.NoError(t, os.Mkdir(filepath.Join(data, "service"), 0o755)) // MinIO keeps a bucket as a folder
	server := exec.Command(os.Getenv(minioVariable), "server", "--quiet", "--address", address, data)
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
	return openStorage(t, objects.Place{URI: "s3://service", Endpoint: "http://" + address}, filepath.Join(data, "service")) // beside it is what MinIO itself keeps
}

// openStorage opens a storage whose files are in a folder.
func openStorage(t *testing.T, at objects.Place, folder string) testStorage {
	open, err := app.OpenLogs(at)
	require.NoError(t, err)
	all, err := objects.Open(at)
	require.NoError(t, err)
	return testStorage{open, all, findIn(folder)}
}

// On a real log, mirrors lose nothing while they compact it.
func TestMirrorsOnALog(t *testing.T) {
	open, err := app.OpenLogs(objects.Place{URI: t.TempDir()})
	require.NoError(t, err)
	mirrors := testMirrorsWrite(t, open(Documents("x")), 4)
	require.NoError(t, open(Documents("x")).Compact(t.Context(), time.Now().Add(-time.Hour)))
	again := openTestMirror(t, open(Documents("x")), t.TempDir())
	require.Equal(t, mirrors[0].files(t), again.files(t))
	version := again.mustSet(t, "shared/a.md", "after")
	for _, m := range mirrors {
		_, err := m.fresh(t.Context(), time.Hour, version)
		require.NoError(t, err)
		require.Equal(t, "after", m.files(t)["shared/a.md"])
	}
}
