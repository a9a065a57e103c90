package store

import (
	"context"
	"iter"
	"time"
)

// Objects keep bytes by name, written and read whole. Names are slash-separated paths without parts
// that begin with a dot. They are safe for concurrent use by any number of processes.
type Objects interface {
	// Put makes or replaces an object.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns an object, or an error that wraps fs.ErrNotExist.
	Get(ctx context.Context, name string) ([]byte, error)
	// Fetch is Get with the object's tag, which changes with the bytes. If the object still has the
	// known tag, Fetch returns no bytes.
	Fetch(ctx context.Context, name, known string) (data []byte, tag string, err error)
	// Replace replaces an object with this tag, or for "" makes a new one, atomically and durably.
	// It returns the new tag, or ErrBehind if the object has another tag. After any other error it
	// may have been replaced.
	Replace(ctx context.Context, name string, data []byte, tag string) (next string, err error)
	// List yields the objects below a folder, by name, until an error.
	List(ctx context.Context, folder string) iter.Seq2[Object, error]
	// Remove removes an object. A missing one is no error.
	Remove(ctx context.Context, name string) error
	// RemoveAll removes all objects below a folder, and returns how many are left.
	RemoveAll(ctx context.Context, folder string) (left int, err error)
}

// An Object is listed.
type Object struct {
	Name    string
	Changed time.Time // by the clock of the storage
}
