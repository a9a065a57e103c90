// Package jsonfile keeps JSON documents that several processes change.
package jsonfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/memcore/memcore/internal/safefile"
)

// Errors of existing files; test with errors.Is.
var (
	// ErrDamaged means that a file is not of the document's type.
	ErrDamaged = errors.New("file is damaged")
	// ErrNewer means that a file names a format; this release does not. Overwriting it would lose
	// unknown fields.
	ErrNewer = errors.New("file was written by a newer memcore")
)

// Load reads a document. A missing file is the zero T. Errors wrap ErrDamaged or ErrNewer, or are
// the file system's.
func Load[T any](file string) (T, error) {
	var none T
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	return decoded[T](file, data)
}

// decoded returns the document in a file's data.
func decoded[T any](file string, data []byte) (document T, err error) {
	var none T
	var head struct{ Format json.RawMessage }
	if err := json.Unmarshal(data, &head); err == nil && head.Format != nil {
		return none, fmt.Errorf("%s: %w: it has format %.20s: use that release", file, ErrNewer, head.Format)
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return none, fmt.Errorf("%s: %w, mend or delete it: %w", file, ErrDamaged, err)
	}
	return document, nil
}

// LoadDerived is Load, but damaged means missing.
func LoadDerived[T any](file string) (T, error) {
	document, err := Load[T](file)
	if errors.Is(err, ErrDamaged) {
		err = nil
	}
	return document, err
}

// Lock makes missing folders, for the owner only.
func Lock(ctx context.Context, file string) (unlock func(), err error) {
	if err := safefile.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(file+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return func() { lock.Unlock() }, nil
}

// Save writes durably and atomically. It follows links.
func Save[T any](file string, document T) error {
	data, err := encoded(document)
	if err != nil {
		return err
	}
	return Write(file, data)
}

func encoded[T any](document T) ([]byte, error) {
	data, err := json.MarshalIndent(document, "", "  ")
	return append(data, '\n'), err
}

// Write writes a file like Save.
func Write(file string, data []byte) error {
	file = target(file)
	return safefile.Replace(filepath.Dir(file), filepath.Base(file), data, 0o600)
}

// target follows links.
func target(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	return file
}

// maxDocument bounds what Change reads.
const maxDocument = 1 << 30

// Change loads a document, calls change and saves the result under a lock, unless change fails or
// changes nothing. If a program that knows no lock writes meanwhile, such as an editor or an
// import, nothing of it is lost: Change calls change again with what that wrote.
func Change[T any](ctx context.Context, file string, change func(*T) error) (document T, err error) {
	var none T
	unlock, err := Lock(ctx, file)
	if err != nil {
		return none, err
	}
	defer unlock()
	at := target(file)
	// Writing cleans up what a crash left, which may have come right behind a change.
	wrote := false
	defer func() {
		if !wrote {
			safefile.Tidy(filepath.Dir(at), filepath.Base(at), safefile.Abandoned)
		}
	}()
	err = safefile.Update(filepath.Dir(at), filepath.Base(at), maxDocument, 0o600, func(before []byte) ([]byte, error) {
		document = none
		if before != nil { // else there is no file
			if document, err = decoded[T](file, before); err != nil {
				return nil, err
			}
		}
		if changed, err := changes(&document, change); err != nil || !changed {
			return nil, err
		}
		wrote = true
		return encoded(document)
	})
	if err != nil {
		return none, err
	}
	return document, nil
}

// ChangeDerived is Change with LoadDerived. What other programs write meanwhile may be lost.
func ChangeDerived[T any](ctx context.Context, file string, change func(*T) error) (T, error) {
	var none T
	unlock, err := Lock(ctx, file)
	if err != nil {
		return none, err
	}
	defer unlock()
	document, err := LoadDerived[T](file)
	if err != nil {
		return none, err
	}
	changed, err := changes(&document, change)
	if err != nil {
		return none, err
	}
	if !changed {
		return document, nil
	}
	return document, Save(file, document)
}

// changes calls change and reports whether the document is another now.
func changes[T any](document *T, change func(*T) error) (bool, error) {
	before, err := json.Marshal(*document)
	if err != nil {
		return false, err
	}
	if err := change(document); err != nil {
		return false, err
	}
	after, err := json.Marshal(*document)
	return err == nil && !bytes.Equal(after, before), err
}
