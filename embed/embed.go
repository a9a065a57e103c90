// Package embed says what turns text into vectors.
//
// An Embedder is a family contract: minilm (built in), ollama and openai (over the network) fulfil
// it, cache wraps any of them, and package embedtest is what each of them has to pass. The package
// computes nothing itself. Its one rule: vectors may be compared only if their fingerprints are
// equal.
package embed

import (
	"context"
	"errors"
)

// A Kind says what a text is for. Some models want a different prefix for each.
type Kind int

const (
	Document Kind = iota // text that is stored and found
	Query                // text that one searches with
)

// An Embedder turns texts into vectors. Its methods are safe for concurrent use.
type Embedder interface {
	// Embed returns one vector for each text, in order, each of length Dimension and of L2 norm
	// 1 ± 1e-3. No text, whatever its bytes, is refused: an empty one has a vector too, and one
	// longer than MaxTokens is cut by the model (use CountTokens to avoid that). The caller owns
	// what it gets. No texts give no vectors and no error.
	//
	// Errors: ErrUnavailable if the model cannot be reached or does not answer in time,
	// ErrDimension if it answers with vectors of another length than before, ctx.Err() soon after
	// ctx ends. On error there are no vectors at all.
	Embed(ctx context.Context, kind Kind, texts []string) ([][]float32, error)
	// Dimension is the length of every vector, or 0 while a remote model has not told it yet.
	Dimension() int
	// Fingerprint names the vector space: everything that changes vectors (model, version,
	// pooling, prefixes, precision) is in it, and nothing else, such as addresses or keys. It is
	// printable, has no spaces, and is stable between runs and releases.
	Fingerprint() string
	// MaxTokens is how many tokens of a text the model reads, special tokens left out.
	MaxTokens() int
	// CountTokens is how many tokens text has for this model, special tokens left out: exact
	// where the tokeniser is at hand, an estimate on the high side where it is not.
	CountTokens(text string) int
}

// Errors a caller may act on; test with errors.Is.
var (
	// ErrUnavailable: the model cannot be asked now; search goes on by keywords, indexing later.
	ErrUnavailable = errors.New("embedding model is unavailable")
	// ErrDimension: vectors have another length than the index or an earlier answer; rebuild.
	ErrDimension = errors.New("embedding has the wrong dimension")
)

// A Keeper is an Embedder that keeps vectors it has made.
type Keeper interface {
	Embedder
	// Kept returns the vectors of those documents that it has at hand, in order, and nil for each of the others. It computes nothing and asks nobody.
	Kept(texts []string) [][]float32
}
