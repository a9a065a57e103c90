package core

import (
	"context"
	"fmt"
	"time"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
)

// A scored candidate is one with its relevance.
type scored struct {
	candidate
	relevance.Ranked
	normalised float64 // BM25 ÷ best BM25
	hitShare   float64 // BM25 ÷ ceiling
	reranked   *float64
	byTime     bool // the score is that of the time asked for
}

// rank scores all candidates and sorts them, best first.
func (m *Manager) rank(text string, g gathered) []scored {
	byID := make(map[string]candidate, len(g.candidates))
	best := 0.0
	for _, c := range g.candidates {
		best = max(best, c.bm25)
		byID[c.record.ID] = c
	}
	all := make([]scored, 0, len(g.candidates))
	for _, r := range m.relevance.Rank(g.evidence(text)) {
		all = append(all, scored{candidate: byID[r.ID], Ranked: r, normalised: relevance.Share(r.BM25, best), hitShare: relevance.Share(r.BM25, g.ceiling)})
	}
	return all
}

// evidence is what was gathered in the terms of package relevance.
func (g gathered) evidence(text string) (relevance.Query, []relevance.Candidate) {
	candidates := make([]relevance.Candidate, len(g.candidates))
	for i, c := range g.candidates {
		candidates[i] = relevance.Candidate{
			ID: c.record.ID, Text: c.record.Text, Before: c.record.Before, Path: c.record.Path, Line: c.record.StartLine,
			Speaker: c.record.Speaker, Turn: c.record.Kind == source.KindConversation, Tokens: c.record.Tokens,
			BM25: c.bm25, Document: c.document, Cosine: c.cosine, Timely: g.times.timely(c.record),
		}
	}
	return relevance.Query{Text: text, Ceiling: g.ceiling, BestDocument: g.bestDocument, Vectors: g.byVectors, Chunks: g.chunks}, candidates
}

// Evidence returns what the indexes say of a question, before it becomes scores: what relevance
// models are fitted to. The candidates are those of RetrieveRelevant, in no order.
func (m *Manager) Evidence(ctx context.Context, text string) (q relevance.Query, candidates []relevance.Candidate, err error) {
	return m.EvidenceFor(ctx, text, RetrieveOptions{})
}

// EvidenceFor is Evidence with options, such as Now.
func (m *Manager) EvidenceFor(ctx context.Context, text string, options RetrieveOptions) (q relevance.Query, candidates []relevance.Candidate, err error) {
	current, err := m.acquire(ctx)
	if err != nil {
		return q, nil, fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer current.release()
	g := m.gather(ctx, current, text, m.forTurn(options), map[string]time.Duration{})
	if g.err != nil {
		return q, nil, g.err
	}
	q, candidates = g.evidence(text)
	return q, candidates, nil
}
