// Package encoder turns text into vectors with the weights of a BERT model: its layers, and the
// mean over all tokens.
package encoder

import (
	"context"
	"math"
	"sync"

	"github.com/memcore/memcore/embed/internal/encoder/kernel"
	"github.com/memcore/memcore/internal/model/weights"
)

// A Tokenizer cuts text into the pieces of a model's vocabulary. It is safe for concurrent use.
type Tokenizer interface {
	// Append appends the ids of at most limit pieces.
	Append(ids []int32, text string, limit int) []int32
	// Count returns how many pieces text has.
	Count(text string) int
}

// A Model is what an Encoder computes with.
type Model struct {
	Weights     *weights.Model
	Tokenizer   Tokenizer
	First, Last int32 // tokens around every text, such as [CLS] and [SEP]
}

// An Encoder is safe for concurrent use.
type Encoder struct {
	weights     *weights.Model
	tokenizer   Tokenizer
	first, last int32
	kernel      *kernel.Set
	batches     sync.Pool // of *batch
	spaces      sync.Pool // of *workspace
}

// New returns an encoder that computes with a set of kernels.
func New(m Model, k *kernel.Set) *Encoder {
	return &Encoder{weights: m.Weights, tokenizer: m.Tokenizer, first: m.First, last: m.Last, kernel: k}
}

// Embed returns a vector of length 1 for each text, in order, on GOMAXPROCS goroutines. The prefix
// stands before every text. A vector depends only on prefix and text. The only error is ctx.Err(),
// within tens of milliseconds.
func (e *Encoder) Embed(ctx context.Context, prefix string, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vecs := make([][]float32, len(texts))
	for start := 0; start < len(texts); start += wave {
		end := min(start+wave, len(texts))
		if err := e.embedWave(ctx, prefix, texts[start:end], vecs[start:end]); err != nil {
			return nil, err
		}
	}
	return vecs, nil
}

// MaxTokens is how many tokens of a text, with its prefix, are read.
func (e *Encoder) MaxTokens() int { return e.weights.Positions - 2 }

// Count returns the exact number of tokens of text.
func (e *Encoder) Count(text string) int { return e.tokenizer.Count(text) }

// Tokens returns the ids of all tokens of text.
func (e *Encoder) Tokens(text string) []int32 { return e.tokenizer.Append(nil, text, math.MaxInt) }
