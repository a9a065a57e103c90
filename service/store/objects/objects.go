// Package objects keeps store.Objects in a folder or, with the build tag lancedb, on S3-compatible
// storage.
package objects

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/memcore/memcore/service/store"
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
	return put(file, data, false)
}

// put replaces a file as a whole.
func put(file string, data []byte, durable bool) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), ".object-*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(data)
	if durable && err == nil {
		err = temporary.Sync()
	}
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

// Fetch implements store.Objects.
func (f folder) Fetch(ctx context.Context, name, known string) (data []byte, tag string, err error) {
	if data, err = f.Get(ctx, name); err != nil {
		return nil, "", err
	}
	if tag = tagOf(data); tag == known {
		return nil, tag, nil
	}
	return data, tag, nil
}

func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

const (
	// lockName is of the file that is locked by who replaces an object.
	lockName  = ".lock"
	lockEvery = 5 * time.Millisecond
)

// Replace implements store.Objects.
func (f folder) Replace(ctx context.Context, name string, data []byte, tag string) (next string, err error) {
	file, err := f.file(name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(string(f), lockName), flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, lockEvery); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer lock.Close()
	_, has, err := f.Fetch(ctx, name, "")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if has != tag {
		return "", fmt.Errorf("replace object %s: %w", name, store.ErrBehind)
	}
	return tagOf(data), put(file, data, true)
}

// List implements store.Objects.
func (f folder) List(ctx context.Context, name string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		below, err := f.file(name)
		if err != nil {
			yield(store.Object{}, err)
			return
		}
		err = filepath.WalkDir(below, func(file string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil // removed in the meantime
			case err != nil:
				return err
			case entry.IsDir() || strings.HasPrefix(entry.Name(), "."):
				return ctx.Err()
			}
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			rel, errRel := filepath.Rel(string(f), file)
			if err = errors.Join(err, errRel); err == nil && !yield(store.Object{Name: filepath.ToSlash(rel), Changed: info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			yield(store.Object{}, err)
		}
	}
}

// Remove implements store.Objects.
func (f folder) Remove(_ context.Context, name string) error {
	file, err := f.file(name)
	if err != nil {
		return err
	}
	if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
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
