package core

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/store"
)

// damageFile says why a generation is damaged; Index then rebuilds.
const damageFile = "DAMAGED"

// maxDamage is the longest recorded reason, in bytes.
const maxDamage = 1000

// noteDamage records damage for the next run of indexing.
func (m *indexer) noteDamage(from snapshot, errs ...error) {
	err := errors.Join(errs...)
	if !errors.Is(err, store.ErrCorrupt) || from.folder == "" {
		return
	}
	f, openErr := os.OpenFile(filepath.Join(from.folder, damageFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(openErr, fs.ErrExist), errors.Is(openErr, fs.ErrNotExist):
		return // it is noted, or the generation is gone
	case openErr != nil:
		m.log.Warn("the index is damaged, and cannot be marked for a rebuild: run 'memcore index --rebuild'", "error", err, "why", openErr)
		return
	}
	text := strings.ToValidUTF8(err.Error(), "")
	_, writeErr := f.WriteString(text[:min(len(text), maxDamage)] + "\n")
	m.log.Warn("the index is damaged; the next run of indexing rebuilds it", "error", err, "noted", errors.Join(writeErr, f.Close()) == nil)
}

func (x snapshot) notedDamage() string {
	if x.folder == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(x.folder, damageFile))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "damage was found: " + strings.ToValidUTF8(strings.TrimSpace(string(text)), "?")
}

// tooNew turns store.ErrNewer into advice, other errors into nil.
func (m *indexer) tooNew(err error) error {
	if !errors.Is(err, store.ErrNewer) {
		return nil
	}
	return fmt.Errorf("index %s is left as it is: %w: use that release or another index folder, or rebuild with --rebuild", m.options.Folder, err)
}
