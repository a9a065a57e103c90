// Package minilm is the built-in embedding model: all-MiniLM-L6-v2 in Go, with its weights in the
// binary.
//
// Six transformer layers and the mean over all tokens give a vector of 384 numbers. Texts are cut
// after 254 tokens. The model is trained on English; README.md describes its origin and accuracy.
// New is free; the first text unpacks the weights (10 ms, 6 MB).
package minilm

import (
	"context"
	_ "embed" // for the weights
	"sync"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/encoder"
	"github.com/memcore/memcore/embed/internal/encoder/kernel"
	"github.com/memcore/memcore/internal/model/modelfile"
	"github.com/memcore/memcore/internal/model/weights"
	"github.com/memcore/memcore/internal/model/wordpiece"
)

// fingerprint's last part grows if vectors change by more than rounding.
const fingerprint = "minilm/all-MiniLM-L6-v2/384/mean/int8/v2"

// maxTokens leaves room for [CLS] and [SEP].
const maxTokens = modelfile.Positions - 2

// The tokens around a text.
const (
	cls = 101
	sep = 102
)

// A Model is an embed.Embedder. All share the weights.
type Model struct{ encoder func() *encoder.Encoder }

var _ embed.Embedder = (*Model)(nil)

// New returns a model. Its weights are unpacked on first use.
func New() *Model { return &Model{shared} }

// Embed implements embed.Embedder. It treats queries and documents alike, on GOMAXPROCS goroutines.
// A vector depends only on its text. The only error is ctx.Err(), within tens of milliseconds.
func (m *Model) Embed(ctx context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	return m.encoder().Embed(ctx, "", texts)
}

// Dimension is 384.
func (m *Model) Dimension() int { return weights.Hidden }

// Fingerprint is the same for all models on all machines.
func (m *Model) Fingerprint() string { return fingerprint }

// MaxTokens is 254.
func (m *Model) MaxTokens() int { return maxTokens }

// CountTokens returns the exact number of word pieces.
func (m *Model) CountTokens(text string) int { return m.encoder().Count(text) }

//go:embed minilm.bin
var data []byte

var shared = sync.OnceValue(func() *encoder.Encoder { return open(kernel.Best()) })

// open panics on damaged weights, which a test excludes.
func open(k *kernel.Set) *encoder.Encoder {
	file, err := modelfile.Parse(data)
	if err != nil {
		panic("minilm: embedded weights: " + err.Error())
	}
	words, err := wordpiece.New(file.Words)
	if err != nil {
		panic("minilm: embedded vocabulary: " + err.Error())
	}
	return encoder.New(encoder.Model{Weights: file.Weights, Tokenizer: words, First: cls, Last: sep}, k)
}
