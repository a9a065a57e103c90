package core

import (
	"context"
	"fmt"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// A scored candidate is one with its relevance.
type scored struct {
	candidate
	relevance.Ranked
	normalised float64 // BM25 ÷ best BM25
	hitShare   float64 // BM25 ÷ ceiling
	reranked   *float64
	worth      *float64 // in a turn that is no question, how likely it is wanted
	why        string   // it is given whatever its score
	refused    string   // the verdict of a turn that does not want it
	byTime     bool     // the score is that of the time asked for
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
	q, candidates := g.evidence(text)
	for _, r := range m.relevance.Rank(m.relevance.Rescaled(q, candidates, g.scale)) {
		all = append(all, scored{candidate: byID[r.ID], Ranked: r, normalised: relevance.Share(r.BM25, best), hitShare: relevance.Share(r.BM25, g.ceiling)})
	}
	return all
}

// why says in words what memory knows a question by.
func (m *Manager) why(text string, g gathered) string {
	q, candidates := g.evidence(text)
	return m.relevance.Why(m.relevance.Rescaled(q, candidates, g.scale))
}

// evidence is what was gathered in the terms of package relevance.
func (g gathered) evidence(text string) (relevance.Query, []relevance.Candidate) {
	candidates := make([]relevance.Candidate, len(g.candidates))
	for i, c := range g.candidates {
		candidates[i] = relevance.Candidate{
			ID: c.record.ID, Text: c.record.Text, Before: c.record.Before, Path: c.record.Path, Line: c.record.StartLine,
			Speaker: c.record.Speaker, Turn: c.record.Kind == source.KindConversation && len(c.record.Headings) == 0, Tokens: c.record.Tokens, Request: requestOf(c.record),
			BM25: c.bm25, Document: c.document, Cosine: c.cosine, Holds: c.held.Itself, Near: c.held.Nearby, Timely: g.times.timely(c.record),
		}
	}
	return g.query(text), candidates
}

// query is what all candidates of a text have in common, in the terms of package relevance.
func (g gathered) query(text string) relevance.Query {
	q := relevance.Query{Text: text, Ceiling: g.ceiling, BestDocument: g.bestDocument, Vectors: g.byVectors, Chunks: g.chunks, Language: g.language}
	for _, t := range g.terms {
		q.Words = append(q.Words, relevance.Word{Text: t.Word, Records: t.Records, Compound: t.Compound})
	}
	return q
}

// Evidence returns what the indexes say of a question, before it becomes scores: what relevance models are
// fitted to, with cosines as the embedder has them. The candidates are those of RetrieveRelevant, in no order.
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

// requestOf is the request that a chunk of an agent's log answers; "" for any other chunk.
func requestOf(r store.Record) string {
	if r.Kind != source.KindConversation || len(r.Headings) == 0 || r.Headings[0] == chunker.Unheaded {
		return ""
	}
	return r.Headings[0]
}
