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

// damageFile is in a generation in which damage was met, and says what it was. Indexes are not read whole when they are opened, so
// whoever meets damage tells the next run of indexing, in whatever process, to make a new generation.
const damageFile = "DAMAGED"

// mostDamage is how much of a reason is kept, in bytes.
const mostDamage = 1000

// meet notes damage among errs for the next run of indexing. Where that cannot be written, the next one who meets it says so again.
func (m *Manager) meet(from snapshot, errs ...error) {
	err := errors.Join(errs...)
	if !errors.Is(err, store.ErrCorrupt) {
		return
	}
	f, openErr := os.OpenFile(filepath.Join(from.folder, damageFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(openErr, fs.ErrExist), errors.Is(openErr, fs.ErrNotExist):
		return // somebody has said so, or the generation is gone
	case openErr != nil:
		m.log.Warn("the index is damaged, and that cannot be noted for the next run of indexing: run 'memcore index --rebuild'", "error", err, "why", openErr)
		return
	}
	text := strings.ToValidUTF8(err.Error(), "")
	_, writeErr := f.WriteString(text[:min(len(text), mostDamage)] + "\n") // that the file is there says enough
	m.log.Warn("the index is damaged, and is made anew by the next run of indexing", "error", err, "noted", errors.Join(writeErr, f.Close()) == nil)
}

// met returns what damage was noted in a generation; "" if none was.
func (x snapshot) met() string {
	text, err := os.ReadFile(filepath.Join(x.folder, damageFile))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "damage was met: " + strings.ToValidUTF8(strings.TrimSpace(string(text)), "?")
}

// tooNew says what to do about an index that a newer release made; nil if err is about something else.
func (m *Manager) tooNew(err error) error {
	if !errors.Is(err, store.ErrNewer) {
		return nil
	}
	return fmt.Errorf("index %s is left as it is: %w: use that release, or another folder for the index, or make it anew with --rebuild", m.options.Folder, err)
}
