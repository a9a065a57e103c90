// Package kind sorts errors, for exit codes, HTTP and MCP.
package kind

import (
	"context"
	"errors"
	"fmt"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/core/trust"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/web/overload"
	"github.com/memcore/memcore/store"
)

// A Kind groups errors that callers treat alike.
type Kind int

// Kinds of errors.
const (
	Failure     Kind = iota // any other error
	BadInput                // a wrong flag, argument, setting or request
	Forbidden               // memory does not allow the change
	NotFound                // there is no such thing
	Conflict                // a file has changed since it was read
	Damaged                 // an index cannot be read
	Unavailable             // the work was ended
	Late                    // time is up
)

// sentinels are known errors. The first match counts.
var sentinels = []struct {
	kind   Kind
	errors []error
}{
	{BadInput, []error{core.ErrOption, core.ErrNotIndexed, core.ErrNotForgotten, hook.ErrAgent, hook.ErrEvent, tools.ErrArguments, session.ErrRole, trust.ErrRoot,
		notes.ErrPath, notes.ErrTarget, notes.ErrNothing, notes.ErrOpen, notes.ErrNoEntry, notes.ErrStatement, notes.ErrLines, notes.ErrNoLines, notes.ErrStruck, notes.ErrNoProposal}},
	{Forbidden, []error{notes.ErrUnseen}},
	{NotFound, []error{notes.ErrNoFile, session.ErrNoSession, core.ErrNoConversation}},
	{Conflict, []error{notes.ErrChanged}},
	{Damaged, []error{store.ErrCorrupt, store.ErrNewer}},
	{Unavailable, []error{context.Canceled, overload.ErrBusy}},
	{Late, []error{context.DeadlineExceeded}},
}

// Of returns the kind of an error.
func Of(err error) Kind {
	var known kindError
	if errors.As(err, &known) {
		return known.kind
	}
	for _, s := range sentinels {
		for _, sentinel := range s.errors {
			if errors.Is(err, sentinel) {
				return s.kind
			}
		}
	}
	return Failure
}

// A kindError is an error of a kind.
type kindError struct {
	error
	kind Kind
}

func (e kindError) Unwrap() error { return e.error }

// As marks an error as one of a kind.
func As(kind Kind, err error) error { return kindError{err, kind} }

// Usagef is fmt.Errorf for BadInput.
func Usagef(format string, args ...any) error { return As(BadInput, fmt.Errorf(format, args...)) }

// A hintError has a hint.
type hintError struct {
	error
	hint string
}

func (e hintError) Unwrap() error { return e.error }

// Hint adds the next step to an error.
func Hint(err error, hint string) error { return hintError{err, hint} }

// HintOf returns an error's hint, or "".
func HintOf(err error) string {
	var e hintError
	errors.As(err, &e)
	return e.hint
}
