package store

import "context"

// A Shared is where several memories, on several machines, give each other their records. Each keeps
// its own indexes and answers from those, so that a query never waits for a network; a Shared is how
// they get to know of each other's documents. All methods are safe for concurrent use, also by many
// processes at once, as long as each owner is one process at a time.
type Shared interface {
	// Name tells this Shared from others, such as its URI.
	Name() string
	// Owned returns what owner has published and not withdrawn, without vectors, in no order.
	Owned(ctx context.Context, owner string) ([]Record, error)
	// Publish makes put and gone known to the others, all or nothing; gone are records that Owned has
	// and that are withdrawn. Records have vectors made by embedder, or none. An error leaves it open
	// whether the others see the batch; publishing it again is safe.
	Publish(ctx context.Context, owner, embedder string, put, gone []Record) error
	// Changes returns what others than owner have published since a cursor, in the order in which
	// each of them did, and the cursor for the next call. If that is much, it is only some, in whole
	// batches: none means that all is known. A nil cursor is the beginning, and so is one
	// of another storage; Storage of the new cursor tells. A storage that was there when the cursor was
	// made and is missing now is an error.
	Changes(ctx context.Context, owner string, since Cursor) ([]Change, Cursor, error)
	// Close releases what is held. It does not wait for a storage that does not answer.
	Close() error
}

// A Cursor says how much of a Shared is known: the number of the last batch by owner and, as that of
// "", which storage it is: one that was made anew in the same place is another.
type Cursor map[string]int64

// Storage tells storages apart; 0 is one that does not exist yet.
func (c Cursor) Storage() int64 { return c[""] }

// Owners is how many others there are.
func (c Cursor) Owners() int {
	if c.Storage() == 0 {
		return len(c)
	}
	return len(c) - 1
}

// A Change is a record that another owner has published or withdrawn.
type Change struct {
	Owner    string
	Embedder string // fingerprint of what made the vector; "" if there is none
	Gone     bool   // withdrawn: of Record only ID and Path count
	Record   Record // with its Vector, if it has one
}
