// Package objects keeps store.Objects in a folder or, with the build tag lancedb, on S3-compatible
// storage.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/store"
)

// A Place is where objects are. Keys come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN or the machine's role.
type Place struct {
	URI      string // s3://bucket/prefix, or a folder
	Endpoint string // URL of an S3-compatible storage; "" is Amazon's
	Region   string // "" is us-east-1
}

// Open does not connect.
func Open(at Place) (store.Objects, error) {
	if !strings.Contains(at.URI, "://") {
		return folder(at.URI), nil
	}
	return openBucket(at)
}

// A folder has objects as files.
type folder string

func (f folder) file(name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("object %q: %w", name, fs.ErrInvalid)
	}
	return filepath.Join(string(f), filepath.FromSlash(name)), nil
}

// Put implements store.Objects.
func (f folder) Put(_ context.Context, name string, data []byte) error {
	file, err := f.file(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".object-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	if err = errors.Join(err, temporary.Close()); err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		os.Remove(temporary.Name())
	}
	return err
}

// Get implements store.Objects.
func (f folder) Get(_ context.Context, name string) ([]byte, error) {
	file, err := f.file(name)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// RemoveAll implements store.Objects.
func (f folder) RemoveAll(_ context.Context, name string) (left int, err error) {
	file, err := f.file(name)
	if err != nil {
		return 0, err
	}
	if err := os.RemoveAll(file); err != nil {
		return 1, err
	}
	return 0, nil
}
