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
	var document T
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return document, nil
	}
	if err != nil {
		return document, err
	}
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
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return Write(file, append(data, '\n'))
}

// Write writes a file like Save.
func Write(file string, data []byte) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	return safefile.Replace(filepath.Dir(file), filepath.Base(file), data, 0o600)
}

// Change loads a document, calls change and saves the result under a lock, unless change fails or
// changes nothing.
func Change[T any](ctx context.Context, file string, change func(*T) error) (T, error) {
	return changeLoaded(ctx, file, Load[T], change)
}

// ChangeDerived is Change with LoadDerived.
func ChangeDerived[T any](ctx context.Context, file string, change func(*T) error) (T, error) {
	return changeLoaded(ctx, file, LoadDerived[T], change)
}

func changeLoaded[T any](ctx context.Context, file string, load func(string) (T, error), change func(*T) error) (T, error) {
	var none T
	unlock, err := Lock(ctx, file)
	if err != nil {
		return none, err
	}
	defer unlock()
	document, err := load(file)
	if err != nil {
		return none, err
	}
	before, err := json.Marshal(document)
	if err != nil {
		return none, err
	}
	if err := change(&document); err != nil {
		return none, err
	}
	if after, err := json.Marshal(document); err != nil || bytes.Equal(after, before) {
		return document, err
	}
	return document, Save(file, document)
}
