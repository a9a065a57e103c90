package store

import "context"

// A Shared exchanges records between machines, which answer from their own indexes. It is safe for
// concurrent use by any number of processes, one for each owner.
type Shared interface {
	// Name identifies it, such as its URI.
	Name() string
	// Owned returns what owner has published, without vectors, in any order.
	Owned(ctx context.Context, owner string) ([]Record, error)
	// Publish publishes put, with embedder's vectors if any, and withdraws gone: all or nothing.
	// After an error others may see the batch; repeating it is safe.
	Publish(ctx context.Context, owner, embedder string, put, gone []Record) error
	// Changes returns what other owners have published since a cursor, each one's in order, and the
	// next cursor: whole batches, perhaps not all; none if all is known. A nil cursor, or another
	// storage's, is the beginning. A storage that is missing by now is an error.
	Changes(ctx context.Context, owner string, since Cursor) ([]Change, Cursor, error)
	// Close waits for no storage.
	Close() error
}

// A Cursor has each owner's last known batch. That of "" identifies the storage, until it is
// created again.
type Cursor map[string]int64

// Storage identifies the storage; 0 does not exist yet.
func (c Cursor) Storage() int64 { return c[""] }

// Owners is the number of other memories.
func (c Cursor) Owners() int {
	if c.Storage() == 0 {
		return len(c)
	}
	return len(c) - 1
}

// A Change is what another owner did to a record.
type Change struct {
	Owner    string
	Embedder string // fingerprint of the embedder of the vector, if it has one
	Gone     bool   // withdrawn: of Record only ID and Path count
	Record   Record // with its Vector, if it has one
}
