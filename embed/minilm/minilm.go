// Package minilm is the built-in embedding model: all-MiniLM-L6-v2 in Go, its weights in the binary.
//
// It needs no server, no download and no cgo. Texts become vectors of 384 numbers by six transformer
// layers and the mean over all tokens; beyond 254 tokens a text is cut. The model is trained on
// English; README.md tells where it comes from and how near the rounded weights are to the published
// ones. Its one rule: making a Model is free, the first text pays for unpacking (some 10 ms, 6 MB).
package minilm

import (
	"context"
	_ "embed" // for the weights
	"sync"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm/internal/kernel"
	"github.com/memcore/memcore/embed/minilm/internal/weights"
	"github.com/memcore/memcore/embed/minilm/internal/wordpiece"
)

// fingerprint names the model, the length of its vectors, the pooling and the format of the weights.
// Its last part is to be counted up when anything else changes vectors by more than rounding.
const fingerprint = "minilm/all-MiniLM-L6-v2/384/mean/int8/v2"

// maxTokens leaves room for [CLS] and [SEP].
const maxTokens = weights.Positions - 2

// A Model is an embed.Embedder. All of them share one copy of the weights.
type Model struct {
	kernel *kernel.Set
	crews  sync.Pool // of *crew, and
	spaces sync.Pool // of *workspace, left behind by earlier calls
}

var _ embed.Embedder = (*Model)(nil)

// New makes a model ready for use. It does no work; the weights are unpacked when first needed.
func New() *Model { return &Model{kernel: kernel.Best()} }

// Embed returns the vectors of texts; see embed.Embedder. Queries and documents are treated alike. It
// uses as many goroutines as GOMAXPROCS allows; vectors do not depend on that, nor on what other texts
// are embedded with a text. The only error is ctx.Err(), after at most some tens of milliseconds.
func (m *Model) Embed(ctx context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vecs := make([][]float32, len(texts))
	for start := 0; start < len(texts); start += wave {
		end := min(start+wave, len(texts))
		if err := m.embedWave(ctx, texts[start:end], vecs[start:end]); err != nil {
			return nil, err
		}
	}
	return vecs, nil
}

// Dimension is 384.
func (m *Model) Dimension() int { return weights.Hidden }

// Fingerprint is the same for all models of this package, whatever machine they run on.
func (m *Model) Fingerprint() string { return fingerprint }

// MaxTokens is 254.
func (m *Model) MaxTokens() int { return maxTokens }

// CountTokens is the exact number of word pieces of text, 0 for none.
func (m *Model) CountTokens(text string) int { return tokenizer().Count(text) }

//go:embed minilm.bin
var data []byte

// model is the unpacked file. It panics if the binary was built with another file than the tested one.
var model = sync.OnceValue(func() *weights.Model {
	m, err := weights.Parse(data)
	if err != nil {
		panic("minilm: embedded weights: " + err.Error())
	}
	return m
})

var tokenizer = sync.OnceValue(func() *wordpiece.Tokenizer {
	t, err := wordpiece.New(model().Words)
	if err != nil {
		panic("minilm: embedded vocabulary: " + err.Error())
	}
	return t
})
