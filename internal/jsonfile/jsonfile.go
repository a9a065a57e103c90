// Package jsonfile keeps one JSON document in a file that several processes change.
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

	"github.com/memcore/memcore/internal/beneath"
)

// Errors of documents that are there; test with errors.Is.
var (
	// ErrDamaged means that a file is no JSON, or not that of the document.
	ErrDamaged = errors.New("file is damaged")
	// ErrNewer means that a file says to be in a format: those of this release say nothing. It is neither read nor written, or what
	// this release does not know in it would be lost.
	ErrNewer = errors.New("file was written by a newer memcore")
)

// Load reads the document; that of a missing file is the zero T. Errors wrap ErrDamaged or ErrNewer, or are those of the file system.
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

// LoadDerived is Load for a document that can be done without: that of a damaged file is the zero T.
func LoadDerived[T any](file string) (T, error) {
	document, err := Load[T](file)
	if errors.Is(err, ErrDamaged) {
		err = nil
	}
	return document, err
}

// Lock waits until no other process holds the document, and returns what ends that. Folders of the file that are missing are made, for
// their owner only.
func Lock(ctx context.Context, file string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(file+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return func() { lock.Unlock() }, nil
}

// Save writes the document as a whole, and durably: readers see the old one or the new. A link stays one, and what it leads to is written.
func Save[T any](file string, document T) error {
	data, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return Write(file, append(data, '\n'))
}

// Write writes a file as a whole, as Save does. It also removes what writers in the same folder have left that were ended while they wrote, as hooks are when
// their time is up.
func Write(file string, data []byte) error {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	return beneath.Replace(filepath.Dir(file), filepath.Base(file), data, 0o600)
}

// Change loads the document, lets change alter it and saves it, while no other process does the same. A change that returns an error
// saves nothing, nor does one that changes nothing.
func Change[T any](ctx context.Context, file string, change func(*T) error) (T, error) {
	return changeLoaded(ctx, file, Load[T], change)
}

// ChangeDerived is Change for a document that can be done without: a damaged file begins anew.
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
