package store

import "errors"

// Errors a caller may act on; test with errors.Is.
var (
	ErrClosed    = errors.New("index is closed")                     // a bug in the caller
	ErrDimension = errors.New("vector has the wrong length")         // another embedder: rebuild
	ErrFormat    = errors.New("index was written in another format") // another release: rebuild
	ErrCorrupt   = errors.New("index is damaged")                    // delete and rebuild; tell the user

	// ErrNewer means that a newer release made the index. Do not rebuild it: two releases on one
	// machine would do so in turns.
	ErrNewer = errors.New("index was written by a newer memcore")
)

// An Error's text reads "nearest /home/ada/.cache/memcore/7/vectors: vector has the wrong length".
type Error struct {
	Op   string // "open", "put", "commit", "nearest", "match", "check", …
	Path string // folder of the index
	Err  error  // never nil
}

func (e *Error) Error() string { return e.Op + " " + e.Path + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }
