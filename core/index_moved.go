package core

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// Moved tells an unused index that its documents have moved from a folder, of another machine, to
// one here. Documents with the same times on all machines (source.FolderOptions.Dated) are not read
// again.
func Moved(index, from, to string) error {
	_, folder, err := generation.New(index).Current()
	if err != nil {
		return err
	}
	m, err := readManifest(folder)
	if err != nil {
		return err
	}
	for path, e := range m.Documents {
		if rest, ok := strings.CutPrefix(e.File, from); ok {
			e.File = to + rest
			m.Documents[path] = e
		}
	}
	text, err := manifestFormat.Encode(folder, m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, store.ManifestFile), text, 0o600)
}
