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
	"github.com/natefinch/atomic"
)

// Load reads the document; that of a missing file is the zero T.
func Load[T any](file string) (T, error) {
	var document T
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return document, nil
	}
	if err != nil {
		return document, err
	}
	if err := json.Unmarshal(data, &document); err != nil {
		var none T
		return none, fmt.Errorf("%s: %w", file, err)
	}
	return document, nil
}

// Change loads the document, lets change alter it and saves it, while no other process does the same; readers see the old one or
// the new. A change that returns an error saves nothing, nor does one that changes nothing. Folders of the file that are missing are
// made, for their owner only.
func Change[T any](ctx context.Context, file string, change func(*T) error) (T, error) {
	var none T
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return none, err
	}
	lock := flock.New(file+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return none, fmt.Errorf("lock %s: %w", file, err)
	}
	defer lock.Unlock()
	document, err := Load[T](file)
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
	after, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return none, err
	}
	var compact bytes.Buffer
	if json.Compact(&compact, after) == nil && bytes.Equal(compact.Bytes(), before) {
		return document, nil
	}
	return document, atomic.WriteFile(file, bytes.NewReader(append(after, '\n')))
}
