// Package embed defines embedders, which turn text into vectors.
//
// Packages minilm (built in), pack (installed), ollama and openai (over the network) implement
// Embedder; cache wraps one, embedtest tests them. Compare only vectors of equal fingerprints.
package embed

import (
	"context"
	"errors"
	"fmt"
)

// A Kind is the purpose of a text, since some models want a prefix for each.
type Kind int

const (
	Document Kind = iota // stored text
	Query                // text to search with
)

// An Embedder turns texts into vectors. Its methods are safe for concurrent use.
type Embedder interface {
	// Embed returns one vector of length Dimension and L2 norm 1 ± 1e-3 for each text, in order. It
	// accepts any bytes, cuts texts after MaxTokens, and accepts no texts. The caller owns the
	// vectors.
	//
	// Errors, without vectors: ErrUnavailable if the model is unreachable, too slow, or has no
	// vector for one of the texts, ErrDimension if vectors have another length than before,
	// ctx.Err() soon after ctx ends. A call that fails leaves nothing behind: the same embedder
	// embeds the other texts.
	Embed(ctx context.Context, kind Kind, texts []string) ([][]float32, error)
	// Dimension is the length of a vector, or 0 until a remote model has answered.
	Dimension() int
	// Fingerprint names the vector space by all that changes vectors (model, version, pooling,
	// prefixes, precision), without addresses and keys. It is printable, has no spaces, and is
	// stable between runs and releases.
	Fingerprint() string
	// MaxTokens is how many tokens of a text the model reads, without special tokens.
	MaxTokens() int
	// CountTokens counts tokens without special ones. With a remote tokeniser it estimates high.
	CountTokens(text string) int
}

// Errors a caller may act on; test with errors.Is.
var (
	// ErrUnavailable: the model does not answer now; search by keywords, index later.
	ErrUnavailable = errors.New("embedding model is unavailable")
	// ErrRefused is an ErrUnavailable for which no text can be at fault: a server takes no
	// connection, or refuses all, such as for the key or for too many requests.
	ErrRefused = fmt.Errorf("%w", ErrUnavailable)
	// ErrDimension: vectors have another length than the index or an earlier answer; rebuild.
	ErrDimension = errors.New("embedding has the wrong dimension")
)

// Missing returns what a person must do first, such as install a model, for an embedder that has a
// method Missing, perhaps behind decorators; else nil.
func Missing(e Embedder) error {
	for {
		if m, ok := e.(interface{ Missing() error }); ok {
			return m.Missing()
		}
		outer, ok := e.(interface{ Unwrap() Embedder })
		if !ok {
			return nil
		}
		e = outer.Unwrap()
	}
}

// Bare returns the embedder behind the Keepers around e, which answers nothing from a store.
func Bare(e Embedder) Embedder {
	for {
		keeper, ok := e.(Keeper)
		if !ok {
			return e
		}
		outer, ok := keeper.(interface{ Unwrap() Embedder })
		if !ok {
			return e
		}
		e = outer.Unwrap()
	}
}

// A Keeper is an Embedder that stores vectors.
type Keeper interface {
	Embedder
	// Kept returns stored vectors in order, nil for other documents. It computes nothing.
	Kept(texts []string) [][]float32
}
