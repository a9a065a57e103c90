package eval

import (
	"context"

	"github.com/memcore/memcore/core"
)

// A FoundTurn is what memory has for a turn before it is decided what of it is given.
type FoundTurn struct {
	Set     string
	ID      string
	Kind    string
	Nothing bool // nothing in memory is wanted
	Given   bool // something is given whatever a relevance.Turn model says
	// Candidates are those that the model decides about, and those that are Sure, best first.
	Candidates []FoundCandidate
}

// A FoundCandidate is a candidate for a turn, and what it is worth.
type FoundCandidate struct {
	Terms []float64 // in the order of relevance.TurnNames
	Sure  bool      // given whatever the model says
	Grade int       // GradeNoise if no judgment is about it
}

// TurnsEvidence indexes each state of each set once and returns what memory has for its prompts.
func TurnsEvidence(ctx context.Context, open Opener, sets []TurnSet, o TurnsOptions) ([]FoundTurn, error) {
	var all []FoundTurn
	err := visitTurns(ctx, open, sets, o, func(set string, t Turn, memory *core.Manager) error {
		e, err := memory.TurnEvidence(ctx, t.Prompt, o.Retrieve)
		if err != nil {
			return err
		}
		f := FoundTurn{Set: set, ID: t.ID, Kind: t.Kind, Nothing: t.Nothing, Given: e.Given}
		for _, c := range e.Candidates {
			grade, _ := gradeOf(c.Hit, t.judgments())
			f.Candidates = append(f.Candidates, FoundCandidate{c.Terms, c.Sure, grade})
		}
		all = append(all, f)
		return nil
	})
	return all, err
}
