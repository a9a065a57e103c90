package store

import "context"

// Objects keep bytes by name, each written and read whole. Names are slash-separated paths. They
// are safe for concurrent use by any number of processes.
type Objects interface {
	// Put makes or replaces an object.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns an object, or an error that wraps fs.ErrNotExist.
	Get(ctx context.Context, name string) ([]byte, error)
	// RemoveAll removes all objects below a folder, and returns how many are there afterwards.
	RemoveAll(ctx context.Context, folder string) (left int, err error)
}
