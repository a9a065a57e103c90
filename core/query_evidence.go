package core

import (
	"context"
	"fmt"
	"strings"

	"github.com/memcore/memcore/core/relevance"
)

// TurnEvidence is what relevance.Turn models judge and are fitted to.
type TurnEvidence struct {
	// Given reports whether the prompt gets hits without asking the model for more than
	// Turn.Earlier.
	Given bool
	// Candidates are in the order of the shipped model.
	Candidates []TurnCandidate
}

type TurnCandidate struct {
	Hit     MemoryHit
	Terms   []float64 // in the order of relevance.TurnNames
	Held    float64   // relevance.Held
	Sure    bool      // given whatever the model says
	Refused bool      // not given whatever the model says
}

// TurnEvidence returns no candidates if the prompt is a question, for which scores decide, or gets
// nothing.
func (m *Manager) TurnEvidence(ctx context.Context, prompt string, options RetrieveOptions) (e TurnEvidence, err error) {
	t := turnOf(prompt)
	if t.silence != "" || strings.TrimSpace(prompt) == "" {
		return e, nil
	}
	index, err := m.acquire(ctx)
	if err != nil {
		return e, fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer index.release()
	q := m.queryOf(index, options)
	g, err := q.gather(ctx, t.text)
	if err != nil {
		return e, err
	}
	undecided := *m.turnModel
	undecided.Least = 2 // no worth is 2
	ranked := q.answerTurn(ctx, t, &undecided, g)
	telling := relevance.TellingWords(t.Prompt, g.question)
	for i, c := range ranked {
		if c.turnTerms != nil && c.worth != nil {
			e.Candidates = append(e.Candidates, TurnCandidate{Hit: hitOf(c, i+1, false), Terms: c.turnTerms, Held: relevance.Held(telling, c.Candidate),
				Sure: c.sure != "", Refused: c.refused != "" && c.refused != verdictUnasked})
		}
	}
	q.asked = wordsOf(t.text)
	admitTimely(ranked, g.times)
	hits, _, _ := choose(ranked, g.question.Chunks, q.selection)
	e.Given = len(hits) > 0
	return e, nil
}
