package core

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/internal/text/secret"
)

func (q *query) rank(g gathered) {
	best := bestBM25(g.candidates)
	model := q.index.relevance
	unranked := slices.Clone(g.candidates)
	for i, r := range model.Rank(model.Rescaled(g.question, g.evidence(), g.scale)) {
		c := unranked[r.Place]
		c.Ranked = r
		c.normalised, c.coverage = relevance.Share(r.BM25, best), relevance.Share(r.BM25, g.question.Ceiling)
		g.candidates[i] = c
	}
}

func bestBM25(all []*candidate) (best float64) {
	for _, c := range all {
		best = max(best, c.BM25)
	}
	return best
}

func (g gathered) evidence() []relevance.Candidate {
	all := make([]relevance.Candidate, len(g.candidates))
	for i, c := range g.candidates {
		all[i] = c.Candidate
	}
	return all
}

// why is "" for a question with a secret, which it would quote.
func (q *query) why(g gathered) string {
	if !q.m.options.KeepSecrets {
		if clean, found := secret.Redact(g.question.Text); len(found) > 0 && clean != g.question.Text {
			return ""
		}
	}
	question, candidates := q.index.relevance.Rescaled(g.question, g.evidence(), g.scale)
	return q.index.relevance.Why(question, candidates, func(word string) bool {
		word = strings.ToLower(word)
		return slices.ContainsFunc(g.candidates, func(c *candidate) bool { return strings.Contains(strings.ToLower(c.record.Text), word) })
	})
}

// Evidence returns what the indexes have, unordered, to fit relevance models. Cosines are the
// embedder's.
func (m *Manager) Evidence(ctx context.Context, text string, options RetrieveOptions) (relevance.Query, []relevance.Candidate, error) {
	index, err := m.acquire(ctx)
	if err != nil {
		return relevance.Query{}, nil, fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer index.release()
	g, err := m.queryOf(index, options).gather(ctx, text)
	if err != nil {
		return relevance.Query{}, nil, err
	}
	return g.question, g.evidence(), nil
}

// queryOf returns a query for its candidates alone.
func (m *Manager) queryOf(index snapshot, options RetrieveOptions) *query {
	return &query{selection: m.forTurn(options), m: m, index: index, took: map[string]time.Duration{}}
}

func sortByScore(ranked []*candidate) {
	slices.SortStableFunc(ranked, func(a, b *candidate) int { return cmp.Compare(b.Score, a.Score) })
}
