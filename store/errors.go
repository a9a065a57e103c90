package store

import (
	"errors"
	"fmt"
)

// Errors a caller may act on; test with errors.Is.
var (
	ErrClosed    = errors.New("index is closed")                     // a bug in the caller
	ErrDimension = errors.New("vector has the wrong length")         // another embedder: rebuild
	ErrFormat    = errors.New("index was written in another format") // another release: rebuild
	ErrCorrupt   = errors.New("index is damaged")                    // delete and rebuild; tell the user

	// ErrNewer means that another program on this machine, a newer one, made the index and uses it: it is neither read nor
	// made anew without being asked to, or the two would do so in turns.
	ErrNewer = errors.New("index was written by a newer memcore")
)

// OtherFormat is the error for a file in a format that is not read: ErrNewer if its number is above what this release reads, else ErrFormat.
func OtherFormat(file string, format, reads int) error {
	err := ErrFormat
	if format > reads {
		err = ErrNewer
	}
	return fmt.Errorf("%w: %s has format %d, this release reads %d", err, file, format, reads)
}

// An Error says what was being done to which index. Its text reads
// "nearest /home/ada/.cache/memcore/7/vectors: vector has the wrong length".
type Error struct {
	Op   string // "open", "put", "commit", "nearest", "match", "check", …
	Path string // folder of the index
	Err  error  // never nil
}

func (e *Error) Error() string { return e.Op + " " + e.Path + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }
