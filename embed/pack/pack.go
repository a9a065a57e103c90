// Package pack is an embedding model from a file: a model pack, such as multilingual-e5-small, with
// all that is needed to use it. Package minilm is the one in the binary.
//
// A pack holds a model of MiniLM's shape (384 numbers, 12 heads), a tokeniser and a manifest. It is
// mapped, so that opening is quick and processes share its memory.
package pack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/blevesearch/mmap-go"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/encoder"
	"github.com/memcore/memcore/embed/internal/encoder/kernel"
	"github.com/memcore/memcore/internal/model/unigram"
	"github.com/memcore/memcore/internal/model/weights"
)

// A Model is an embed.Embedder.
type Model struct {
	manifest Manifest
	read     func() (*encoder.Encoder, error)
	prefixes [2]prefix // by embed.Kind

	using  sync.RWMutex
	mapped mmap.MMap // nil once closed
	file   *os.File
}

var _ embed.Embedder = (*Model)(nil)

// A prefix stands before a text.
type prefix struct {
	text   string
	tokens func() int
}

// ErrClosed is wrapped, with embed.ErrUnavailable, by the error of Embed after Close.
var ErrClosed = errors.New("the model is closed")

// Open maps a pack; Close ends that. It reads the manifest, and the rest when the first text comes.
// Errors are ErrFormat, or of package fs.
func Open(path string) (m *Model, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("model pack: %w", err)
	case !info.Mode().IsRegular(): // opening a pipe would wait
		return nil, fmt.Errorf("model pack %s: %w: it is no regular file", path, ErrFormat)
	case info.Size() < int64(len(magic)):
		return nil, fmt.Errorf("model pack %s: %w: %d bytes", path, ErrFormat, info.Size())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("model pack: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	mapped, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("model pack %s: map: %w", path, err)
	}
	if m, err = newModel(mapped); err != nil {
		return nil, errors.Join(fmt.Errorf("model pack %s: %w", path, err), mapped.Unmap())
	}
	m.file = f
	return m, nil
}

// VerifyFile is Verify of a file.
func VerifyFile(path string) (said Manifest, err error) {
	m, err := Open(path)
	if err != nil {
		return said, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if said, err = Verify(m.mapped); err != nil {
		err = fmt.Errorf("model pack %s: %w", path, err)
	}
	return said, err
}

func newModel(data mmap.MMap) (*Model, error) {
	parts, err := parse(data)
	if err != nil {
		return nil, err
	}
	m := &Model{manifest: parts.manifest, mapped: data}
	m.read = sync.OnceValues(func() (*encoder.Encoder, error) { return parts.encoder() })
	for kind, text := range [2]string{embed.Document: m.manifest.DocumentPrefix, embed.Query: m.manifest.QueryPrefix} {
		m.prefixes[kind] = prefix{text, sync.OnceValue(func() int { return m.count(text) })}
	}
	return m, nil
}

func (p parts) encoder() (*encoder.Encoder, error) {
	tokenizer, err := unigram.Parse(p.tokenizer)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", p.manifest.Name, err)
	}
	w, err := weights.Parse(p.manifest.shape(), p.weights)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", p.manifest.Name, err)
	}
	if tokens := tokenizer.Tokens(); tokens > w.Vocabulary {
		return nil, fmt.Errorf("model %s: %w: %d tokens, %d embeddings", p.manifest.Name, ErrFormat, tokens, w.Vocabulary)
	}
	return encoder.New(encoder.Model{Weights: w, Tokenizer: tokenizer, First: p.manifest.First, Last: p.manifest.Last}, kernel.Best()), nil
}

// Close unmaps the file, after calls that use it.
func (m *Model) Close() error {
	m.using.Lock()
	defer m.using.Unlock()
	if m.mapped == nil {
		return nil
	}
	err := errors.Join(m.mapped.Unmap(), m.file.Close())
	m.mapped = nil
	return err
}

// Manifest describes the model.
func (m *Model) Manifest() Manifest { return m.manifest }

// Embed implements embed.Embedder, on GOMAXPROCS goroutines. A vector depends only on its kind and
// text. The error is ctx.Err(), within tens of milliseconds, or embed.ErrUnavailable if the file is
// damaged or closed.
func (m *Model) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	var vecs [][]float32
	err := m.with(func(e *encoder.Encoder) (err error) {
		vecs, err = e.Embed(ctx, m.prefixes[kind].text, texts)
		return err
	})
	return vecs, err
}

// with keeps the file mapped while do runs.
func (m *Model) with(do func(*encoder.Encoder) error) error {
	m.using.RLock()
	defer m.using.RUnlock()
	if m.mapped == nil {
		return fmt.Errorf("model %s: %w: %w", m.manifest.Name, embed.ErrUnavailable, ErrClosed)
	}
	// Reading a mapped page beyond the end of its file would end the process.
	if info, err := m.file.Stat(); err != nil || info.Size() < int64(len(m.mapped)) {
		return errors.Join(fmt.Errorf("model %s: %w: %w: the file was cut short while it is used", m.manifest.Name, embed.ErrUnavailable, ErrFormat), err)
	}
	e, err := m.read()
	if err != nil {
		return fmt.Errorf("%w: %w", embed.ErrUnavailable, err)
	}
	return do(e)
}

// Dimension is 384.
func (m *Model) Dimension() int { return weights.Hidden }

// Fingerprint has the model's name and part of its checksum.
func (m *Model) Fingerprint() string { return m.manifest.Fingerprint() }

// MaxTokens leaves room for the longer prefix.
func (m *Model) MaxTokens() int {
	return m.manifest.Positions - 2 - max(m.prefixes[embed.Document].tokens(), m.prefixes[embed.Query].tokens())
}

// CountTokens returns the exact number of pieces, or a number on the high side if the file is
// damaged or closed.
func (m *Model) CountTokens(text string) int { return m.count(text) }

func (m *Model) count(text string) int {
	n := len(text)
	_ = m.with(func(e *encoder.Encoder) error {
		n = e.Count(text)
		return nil
	})
	return n
}
