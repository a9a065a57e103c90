package fit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
)

// An OpenTurns returns an opener with a model; nil is the shipped one.
type OpenTurns func(*relevance.Turn) (eval.Opener, error)

// RunTurns fits a model, and measures each set with one fitted to the others.
func RunTurns(ctx context.Context, open OpenTurns, sets []eval.TurnSet, silence float64, o eval.TurnsOptions) (model *relevance.Turn, report eval.TurnsReport, err error) {
	if o.Folder == "" {
		if o.Folder, err = os.MkdirTemp("", "memcore-fit-"); err != nil {
			return nil, report, fmt.Errorf("fit turns: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Folder)) }()
	}
	shipped, err := open(nil)
	if err != nil {
		return nil, report, err
	}
	found, err := TurnsEvidence(ctx, shipped, sets, o)
	if err != nil {
		return nil, report, err
	}
	if model, err = Turns(found, silence); err != nil {
		return nil, report, err
	}
	if report, err = heldOut(ctx, open, sets, found, silence, o); err != nil {
		return nil, report, err
	}
	model.Fitted = fitted(report, len(sets), silence)
	return model, report, nil
}

func heldOut(ctx context.Context, open OpenTurns, sets []eval.TurnSet, found []FoundTurn, silence float64, o eval.TurnsOptions) (eval.TurnsReport, error) {
	var asked []eval.AskedTurn
	for _, set := range sets {
		others := slices.DeleteFunc(slices.Clone(found), func(f FoundTurn) bool { return f.Set == set.Name })
		model, err := Turns(others, silence)
		if err != nil {
			return eval.TurnsReport{}, fmt.Errorf("without %s: %w", set.Name, err)
		}
		opener, err := open(model)
		if err != nil {
			return eval.TurnsReport{}, err
		}
		report, err := eval.RunTurns(ctx, opener, []eval.TurnSet{set}, o)
		if err != nil {
			return eval.TurnsReport{}, err
		}
		asked = append(asked, report.Turns...)
	}
	return eval.TallyTurns(asked), nil
}

// fitted describes a fit: sets, options and figures.
func fitted(report eval.TurnsReport, sets int, silence float64) string {
	i := slices.IndexFunc(report.Rows, func(r eval.TurnsRow) bool { return r.Name == eval.RowPrompts })
	if i < 0 {
		return ""
	}
	r := report.Rows[i]
	return fmt.Sprintf("%d prompts of %d repositories, lab/fit -turns -silence %g, %s; on repositories left out: hit %.2f, silent %.2f, p@2 %.2f, p@1+ %.2f, %.0f tokens",
		r.Turns, sets, silence, time.Now().Format(time.DateOnly), r.Hit, r.Silent, r.Precision, r.Related, r.Tokens)
}
