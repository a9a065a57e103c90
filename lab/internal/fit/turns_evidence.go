package fit

import (
	"context"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/eval"
)

// A FoundTurn has the candidates of a turn before the decision.
type FoundTurn struct {
	Set     string
	ID      string
	Kind    string
	Nothing bool // nothing in memory is wanted
	Given   bool // given for another reason than a relevance.Turn model
	Earlier int  // prompts of its session before it
	// Candidates are in the order of the shipped model.
	Candidates []FoundCandidate
}

// A FoundCandidate is a candidate with its grade.
type FoundCandidate struct {
	core.TurnCandidate
	Grade int // eval.GradeNoise if no judgment is about it
}

// TurnsEvidence indexes each state once and returns the candidates of its prompts.
func TurnsEvidence(ctx context.Context, open eval.Opener, sets []eval.TurnSet, o eval.TurnsOptions) ([]FoundTurn, error) {
	var all []FoundTurn
	err := eval.VisitTurns(ctx, open, sets, o, func(set string, t eval.Turn, memory *core.Manager) error {
		e, err := memory.TurnEvidence(ctx, t.Prompt, t.Options(o.Retrieve))
		if err != nil {
			return err
		}
		f := FoundTurn{Set: set, ID: t.ID, Kind: t.Kind, Nothing: t.Nothing, Given: e.Given, Earlier: t.Options(o.Retrieve).Earlier}
		for _, c := range e.Candidates {
			f.Candidates = append(f.Candidates, FoundCandidate{c, t.Grade(c.Hit)})
		}
		all = append(all, f)
		return nil
	})
	return all, err
}
