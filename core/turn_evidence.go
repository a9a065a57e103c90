package core

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/memcore/memcore/core/relevance"
)

// TurnEvidence is what memory has for a prompt before a relevance.Turn model decides: what such
// models are fitted to.
type TurnEvidence struct {
	// Given reports whether the prompt is given something whatever the model says.
	Given bool
	// Candidates are those that the model decides about, and those that are Sure, in the order in
	// which they are given.
	Candidates []TurnCandidate
}

// A TurnCandidate is a candidate with the terms of its worth.
type TurnCandidate struct {
	Hit   MemoryHit
	Terms []float64 // in the order of relevance.TurnNames
	Sure  bool      // given whatever the model says
}

// TurnEvidence returns what memory has for a prompt. There are no candidates if the prompt is a
// question, for which scores decide, or if nothing is looked for.
func (m *Manager) TurnEvidence(ctx context.Context, prompt string, options RetrieveOptions) (e TurnEvidence, err error) {
	t := turnOf(prompt)
	if t.silence != "" || strings.TrimSpace(prompt) == "" {
		return e, nil
	}
	current, err := m.acquire(ctx)
	if err != nil {
		return e, fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer current.release()
	s, took := m.forTurn(options), map[string]time.Duration{}
	g := m.gather(ctx, current, t.text, s, took)
	if g.err != nil {
		return e, g.err
	}
	ranked := m.answerTurn(ctx, current, &relevance.Turn{Least: 2}, t, &s, g) // no worth is 2
	q := g.query(t.text)
	telling := relevance.TellingWords(t.Prompt, q)
	for i, c := range ranked {
		if sure := c.why != ""; c.worth != nil && (sure || c.refused == verdictUnasked) {
			terms := relevance.TurnEvidence(t.Prompt, q, telling, c.Candidate)
			e.Candidates = append(e.Candidates, TurnCandidate{Hit: hitOf(c, i+1, false), Terms: terms, Sure: sure})
		}
	}
	s.asked = wordsOf(t.text)
	admitTimely(ranked, g.times)
	hits, _, _ := choose(ranked, g.chunks, s)
	e.Given = len(hits) > 0
	return e, nil
}
