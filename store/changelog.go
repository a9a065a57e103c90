package store

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Revision is a document as somebody wrote it, or its removal.
type Revision struct {
	// ID is unique. Append sets an empty one.
	ID   string
	Path string // of the document, slash-separated
	Text string // whole; "" if it is gone
	Gone bool
	By   string    // who wrote it
	At   time.Time // when, by the writer's clock, in microseconds and UTC
	// Order is the place among all revisions of the log, from 1. The log sets it. Of two revisions
	// of a document the later one counts.
	Order int64
}

// A Mark is how far a reader has read a Changelog. The zero Mark is its beginning.
type Mark struct {
	Version int64 // of the storage; equal versions hold equal revisions
	Order   int64 // of the last revision that was read
}

// ErrBehind means that somebody else has written what a writer does not know.
var ErrBehind = errors.New("others have written at the same time")

// A Changelog keeps the revisions of a set of documents, and is the only truth about them. Any
// number of processes may read and write it; it is safe for concurrent use.
type Changelog interface {
	// Name says where it is.
	Name() string
	// Append adds revisions after a mark in one step, all or none, and makes them durable. It
	// returns them with their orders, and the mark after them. If the log has other revisions after
	// the mark, it adds nothing and returns those, with ErrBehind. ErrGone if the log was dropped
	// after the mark. After any other error they may have been added; appending them again with the
	// same IDs adds them once.
	Append(ctx context.Context, revisions []Revision, mark Mark) ([]Revision, Mark, error)
	// Since returns the revisions after a mark, by Order. A log that was never written is empty.
	// ErrGone if the log was dropped after the mark.
	Since(ctx context.Context, mark Mark) ([]Revision, Mark, error)
	// Pages yields what Since returns in parts, of which each is small or the revisions of one
	// Append. It stops at an error. Compactions at the same time may remove what was replaced.
	Pages(ctx context.Context, mark Mark) iter.Seq2[[]Revision, error]
	// Compact makes the log fast to read. It removes revisions that were replaced before a time;
	// readers with any mark still get to the same documents. It may run in several processes at
	// once and be interrupted anywhere.
	Compact(ctx context.Context, before time.Time) error
	// Drop removes the log with its history.
	Drop(ctx context.Context) error
}
