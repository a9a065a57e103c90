// Package store has the contracts of what the nodes of a service share: logs of documents and
// objects.
package store

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Revision is a written document or its removal.
type Revision struct {
	// ID is unique. Append sets an empty one.
	ID   string
	Path string // of the document, slash-separated
	Text string // whole; "" if it is gone
	Gone bool
	By   string    // who wrote it
	At   time.Time // when, by the writer's clock, in microseconds and UTC
	// Order is the place among all revisions of the log, from 1, set by the log. A later revision
	// replaces an earlier one of its document.
	Order int64
}

// A Mark is how far a reader has read a Changelog. The zero Mark is its beginning.
type Mark struct {
	Version int64 // of the storage; equal versions hold equal revisions
	Order   int64 // of the last revision that was read
}

// Errors a caller may act on; test with errors.Is.
var (
	ErrBehind = errors.New("others have written at the same time")
	ErrGone   = errors.New("the log of documents was deleted") // while somebody used it
)

// A Changelog keeps the revisions of a set of documents and is the truth about them. It is safe for
// concurrent use by any number of processes.
type Changelog interface {
	// Name says where it is.
	Name() string
	// Append adds revisions after a mark, all or none, durably. It returns them with their orders,
	// and the mark after them. If the log has others after the mark, it returns those with
	// ErrBehind and adds nothing; if it was dropped after the mark, ErrGone. After any other error
	// they may have been added: appending them again with the same IDs adds them once.
	Append(ctx context.Context, revisions []Revision, mark Mark) ([]Revision, Mark, error)
	// Since returns the revisions after a mark, by Order; none of a log that was never written;
	// ErrGone if the log was dropped after the mark.
	Since(ctx context.Context, mark Mark) ([]Revision, Mark, error)
	// Pages yields what Since returns in small parts, or those of one Append, until an error. A
	// concurrent compaction may remove replaced revisions.
	Pages(ctx context.Context, mark Mark) iter.Seq2[[]Revision, error]
	// Compact makes the log fast to read. It removes revisions replaced before a time; readers with
	// any mark still get the same documents. It may run in several processes and be interrupted
	// anywhere.
	Compact(ctx context.Context, before time.Time) error
	// Drop removes the log with its history.
	Drop(ctx context.Context) error
}
