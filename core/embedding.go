package core

import (
	"context"
	"fmt"

	"github.com/memcore/memcore/embed"
)

// embedDocuments returns the vectors of texts. Chunks of our own are never longer than the model reads;
// those of another memory, which counted for another model or did not count at all, may be. Such a text
// is embedded piece by piece, and its vector is the mean.
func (m *Manager) embedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	var parts []string
	ends := make([]int, len(texts)) // in parts
	for i, text := range texts {
		parts = append(parts, m.readable(text)...)
		ends[i] = len(parts)
	}
	made, err := m.embed(ctx, embed.Document, parts)
	if err != nil {
		return nil, err
	}
	vectors, from := make([][]float32, len(texts)), 0
	for i, end := range ends {
		vectors[i], from = meanOf(made[from:end]), end
	}
	return vectors, nil
}

// embedQuery returns the vector of a query. One that is longer than the model reads is embedded piece
// by piece; note says what of it was left out, if anything was.
func (m *Manager) embedQuery(ctx context.Context, text string) (vector []float32, note string, err error) {
	query := m.cutQuery(text)
	vectors, err := m.embed(ctx, embed.Query, query.texts())
	if err != nil {
		return nil, "", err
	}
	return query.mean(vectors), query.note, nil
}

// embed trusts no embedder further than its answer can be checked.
func (m *Manager) embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	vectors, err := m.options.Embedder.Embed(ctx, kind, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embedder %s answered %d texts with %d vectors: %w",
			m.options.Embedder.Fingerprint(), len(texts), len(vectors), embed.ErrUnavailable)
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return nil, fmt.Errorf("embedder %s answered with vectors of length %d and %d: %w",
				m.options.Embedder.Fingerprint(), len(vectors[0]), len(v), embed.ErrDimension)
		}
	}
	return vectors, nil
}
