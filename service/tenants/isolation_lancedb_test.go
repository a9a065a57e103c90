//go:build lancedb

package tenants

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/store/changelog"
	"github.com/memcore/memcore/service/store/objects"
	"github.com/memcore/memcore/service/store/storetest"
)

func init() {
	storages["folder"] = folderStorage
	if os.Getenv(storetest.MinIOVariable) != "" {
		storages["MinIO"] = minioStorage
	}
}

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
	url, folder := storetest.StartMinIO(t, "service")
	return openStorage(t, objects.Place{URI: "s3://service", Endpoint: url}, folder)
}

// openStorage opens a storage whose files are in a folder.
func openStorage(t *testing.T, at objects.Place, folder string) testStorage {
	open, err := changelog.Below(at)
	require.NoError(t, err)
	all, err := objects.Open(at)
	require.NoError(t, err)
	return testStorage{open, all, findIn(folder)}
}

// On a real log, mirrors lose nothing while they compact it.
func TestMirrorsOnALog(t *testing.T) {
	open, err := changelog.Below(objects.Place{URI: t.TempDir()})
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
