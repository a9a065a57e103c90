// Package kind gives the names of internal/kind to files that still import them from here.
package kind

import "github.com/memcore/memcore/internal/kind"

// A Kind is a kind.Kind.
type Kind = kind.Kind

// The names of internal/kind.
const (
	Failure     = kind.Failure
	BadInput    = kind.BadInput
	Forbidden   = kind.Forbidden
	NotFound    = kind.NotFound
	Conflict    = kind.Conflict
	Damaged     = kind.Damaged
	Unavailable = kind.Unavailable
	Late        = kind.Late
)

// The functions of internal/kind.
var (
	Of     = kind.Of
	As     = kind.As
	Usagef = kind.Usagef
	Hint   = kind.Hint
	HintOf = kind.HintOf
)
