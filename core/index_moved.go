package core

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// Moved tells an index that its documents, which were in a folder on another machine, are in one
// here. Nobody may use the index at that time. Documents are not read again whose source gives them
// the same times on any machine (source.FolderOptions.Dated).
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
