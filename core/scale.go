package core

import (
	"context"
	"errors"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
)

// measure finds out what the embedder's cosines mean, if the relevance model was not fitted to it.
// It asks once for an index: the answer is in the manifest. Without an answer, questions are left
// to keywords, and the next run asks again.
func (w *writer) measure(ctx context.Context) error {
	if len(w.m.relevance.Cosines) == 0 || len(w.manifest.Scale) > 0 {
		return nil
	}
	scale, err := relevance.Measure(ctx, w.m.embedding(embed.Query), w.m.embedding(embed.Document))
	if errors.Is(err, relevance.ErrScale) {
		w.m.log.Warn("questions are left to keywords: vectors tell nothing apart", "embedder", w.m.options.Embedder.Fingerprint(), "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	w.manifest.Scale = scale
	return w.manifest.save(w.folder)
}

func (m *Manager) embedding(kind embed.Kind) func(context.Context, []string) ([][]float32, error) {
	return func(ctx context.Context, texts []string) ([][]float32, error) { return m.embed(ctx, kind, texts) }
}

// MeasureScale returns what an embedder's cosines are, for a relevance model that is fitted to it
// and serves others.
func MeasureScale(ctx context.Context, embedder embed.Embedder) (relevance.Scale, error) {
	m := &Manager{options: Options{Embedder: embedder}}
	return relevance.Measure(ctx, m.embedding(embed.Query), m.embedding(embed.Document))
}
