package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/eval/fit"
)

// turnsFit are the flags of 'eval fit --turns'.
type turnsFit struct {
	data      []string
	silence   float64
	work, out string
}

// fitTurns fits the model that decides which prompts of agents at work are given something. Before,
// it prints what each set is given by a model that was fitted to the other sets.
func (a *app) fitTurns(ctx context.Context, t turnsFit) (err error) {
	sets, err := readTurnSets(t.data)
	if err != nil {
		return err
	}
	o := eval.TurnsOptions{
		Folder:   t.work,
		Retrieve: core.RetrieveOptions{Unrecorded: true},
		Progress: func(name string, done, total int) { a.note("%d of %d: %s", done, total, name) },
	}
	if o.MadeBy, err = programHash(); err != nil {
		return fmt.Errorf("fit turns: %w", err)
	}
	if t.work == "" {
		if o.Folder, err = os.MkdirTemp("", "memcore-fit-"); err != nil {
			return fmt.Errorf("fit turns: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Folder)) }()
	} else if o.Folder, err = filepath.Abs(t.work); err != nil {
		return fmt.Errorf("keep indexes in %s: %w", t.work, err)
	}
	open, _, err := a.collectionOpener()
	if err != nil {
		return err
	}
	found, err := eval.TurnsEvidence(ctx, open, sets, o)
	if err != nil {
		return err
	}
	report, err := a.heldOutTurns(ctx, sets, found, t.silence, o)
	if err != nil {
		return err
	}
	if err := a.print(report.Table()); err != nil {
		return err
	}
	model, err := fit.Turns(found, t.silence)
	if err != nil {
		return err
	}
	model.Fitted = turnsFitted(report, len(sets), t.silence)
	if t.out == "" {
		return a.printJSON(model)
	}
	if err := writeJSON(t.out, model); err != nil {
		return fmt.Errorf("model: %w", err)
	}
	a.note("model: %s, least %.3f", t.out, model.Least)
	return nil
}

// heldOutTurns asks the prompts of each set with a model that was fitted to the others.
func (a *app) heldOutTurns(ctx context.Context, sets []eval.TurnSet, found []eval.FoundTurn, silence float64, o eval.TurnsOptions) (eval.TurnsReport, error) {
	var reports []eval.TurnsReport
	for _, set := range sets {
		others := slices.DeleteFunc(slices.Clone(found), func(f eval.FoundTurn) bool { return f.Set == set.Name })
		model, err := fit.Turns(others, silence)
		if err != nil {
			return eval.TurnsReport{}, fmt.Errorf("without %s: %w", set.Name, err)
		}
		open, _, err := a.collectionOpener(func(o *core.Options) { o.Turns = model })
		if err != nil {
			return eval.TurnsReport{}, err
		}
		report, err := eval.RunTurns(ctx, open, []eval.TurnSet{set}, o)
		if err != nil {
			return eval.TurnsReport{}, err
		}
		reports = append(reports, report)
	}
	return eval.MergeTurns(reports...), nil
}

// turnsFitted says what a Turn model was fitted to, how, when, and how good it is.
func turnsFitted(report eval.TurnsReport, sets int, silence float64) string {
	i := slices.IndexFunc(report.Rows, func(r eval.TurnsRow) bool { return r.Name == eval.RowPrompts })
	if i < 0 {
		return ""
	}
	r := report.Rows[i]
	return fmt.Sprintf("%d prompts of %d repositories, memcore eval fit --turns --silence %g, %s; on repositories left out: hit %.2f, silent %.2f, p@2 %.2f, p@1+ %.2f, %.0f tokens",
		r.Turns, sets, silence, time.Now().Format(time.DateOnly), r.Hit, r.Silent, r.Precision, r.Related, r.Tokens)
}

// readTurnSets reads the sets in several folders. Their names have to differ, and there have to be
// two, one of which can be left out.
func readTurnSets(folders []string) ([]eval.TurnSet, error) {
	var all []eval.TurnSet
	for _, folder := range folders {
		sets, err := eval.ReadTurns(folder)
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			if i := slices.IndexFunc(all, func(s eval.TurnSet) bool { return s.Name == set.Name }); i >= 0 {
				return nil, usagef("--turns has two sets %q, in %s and %s; want each once", set.Name, all[i].Folder, set.Folder)
			}
			all = append(all, set)
		}
	}
	if len(all) < 2 {
		return nil, usagef("--turns has %d set, want at least two: what a model is worth shows on a set that it was not fitted to", len(all))
	}
	return all, nil
}
