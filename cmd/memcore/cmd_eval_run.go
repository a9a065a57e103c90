package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/internal/kind"
)

func evalRunCommand(a *cli) *cobra.Command {
	var o evalRunFlags
	cmd := &cobra.Command{
		Use:   "run --data FILE",
		Short: "Measure retrieval on your own memory",
		Long: `Measure recall, rank and what turns get.

FILE has cases for the memory of this workspace as it is indexed: questions and the expected hits. The
buttons of 'memcore view' add to ` + eval.CasesFile + ` in the workspace's folder; you can write it, too:

  cases:
    - query: which port does the staging database use
      expect: notes/staging.md     # any part of it; notes/staging.md#Heading is a section. Or a text of the
                                   # hit, or a mapping with path, heading and text, or a list of these
    - query: thanks, that works
      expect_nothing: true

With --gate, a run that does worse than an earlier one fails. The table has the change of each score, its
95 % interval (bootstrap), and its probability by chance (randomisation test); the queries that changed
most follow.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), a) },
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "`FILE` of the cases, in YAML")
	f.StringVar(&o.baseline, "baseline", "", "`FILE` to write for the --gate of later runs: the scores of each question")
	f.StringVar(&o.gate, "gate", "", "`FILE` of an earlier --baseline or --json: fail if recall, MRR or nDCG is lower, and not by chance")
	return cmd
}

// evalRunFlags are the flags of 'eval run'.
type evalRunFlags struct{ data, baseline, gate string }

// failingListed bounds the questions that are listed because a turn answers them badly.
const failingListed = 10

func (o evalRunFlags) run(ctx context.Context, a *cli) error {
	if o.data == "" {
		return kind.Usagef("--data is empty, want a file of cases ('memcore eval run --help' shows one)")
	}
	cases, err := eval.ReadCases(o.data)
	if err != nil {
		return err
	}
	var report eval.Report
	cutOff := a.Index().With(ctx, func(m *core.Manager) error {
		status, err := m.Status(ctx)
		if err != nil {
			return err
		}
		if status.State == core.StateMissing {
			return kind.Usagef("nothing is indexed here yet: memcore index")
		}
		report, err = eval.RunCases(ctx, m, filepath.Base(o.data), cases, eval.Options{})
		return err
	})
	if cutOff != nil && len(report.Queries) == 0 {
		return cutOff
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		err = a.print(report.Table() + report.Failing(failingListed))
	}
	if cutOff != nil {
		a.note("the run was cut off after %d questions; the figures are of these", len(report.Queries))
		return errors.Join(cutOff, err)
	}
	if err == nil && o.baseline != "" {
		var data []byte
		if data, err = report.EncodeBaseline(); err == nil {
			err = writeBaseline(o.baseline, data)
		}
	}
	if err != nil || o.gate == "" {
		return err
	}
	comparison, failed := report.PassGate(o.gate)
	if comparison.Queries > 0 && !a.json {
		err = a.print("\n" + comparison.Table())
	}
	if failed == nil {
		a.note("gate %s: passed on %d queries", o.gate, comparison.Queries)
	}
	return errors.Join(failed, err)
}
