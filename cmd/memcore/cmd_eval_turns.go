package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
)

func evalTurnsCommand(a *cli) *cobra.Command {
	var o turnsFlags
	cmd := &cobra.Command{
		Use:   "turns --data DIR [SET…]",
		Short: "Measure real prompts with judged hits",
		Long: `Measure what prompts of real sessions get: of those that want something, the share that gets it
(hit@gold); of the others, the share that gets nothing (silent@none); of the hits they get, the share that
is wanted (p@2) or at least related (p@1+).

DIR has a folder for each set: cases.jsonl with prompts and judgments, sessions with the logs, and
states/NAME with the Markdown and the list of logs (sessions.txt) known at the time. SET selects sets. A
hit without a judgment counts as noise; --verbose lists those hits, and the turns that went wrong.

A line of cases.jsonl may also have a statement that the user made once, with an order and a question: they
count as turns that want it. --ordinary asks prompts that want nothing; --variants asks each turn in other
words, too, and tells the share that is given the same.`,
		RunE: func(cmd *cobra.Command, sets []string) error {
			if o.data == "" {
				return kind.Usagef("--data is empty, want a folder of sets of turns")
			}
			if o.keep && o.work == "" {
				return kind.Usagef("--keep is for the indexes in --work")
			}
			return o.run(cmd.Context(), a, sets)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.data, "data", "", "`DIR` of the sets, or one set")
	f.StringVar(&o.work, "work", "", "`DIR` that keeps indexes for the next run of the same program (default: a temporary one)")
	f.StringVar(&o.baseline, "baseline", "", "`FILE` to write for the --gate of later runs")
	f.StringVar(&o.gate, "gate", "", "`FILE` of an earlier --baseline: fail if hit, silence or precision is lower")
	f.StringVar(&o.ordinary, "ordinary", "", "`FILE` of prompts, one a line, that no memory should answer; each set is asked them")
	f.BoolVar(&o.variants, "variants", false, "ask each turn also politely, with a full stop and in other ways that change nothing")
	f.BoolVar(&o.keep, "keep", false, "use the indexes in --work although another program made them, for changes that leave the index alone")
	return cmd
}

// turnsFlags are the flags of 'eval turns'.
type turnsFlags struct {
	data, work, baseline, gate, ordinary string
	keep, variants                       bool
}

func (o turnsFlags) run(ctx context.Context, a *cli, names []string) error {
	sets, err := eval.ReadTurns(o.data, names...)
	if err != nil {
		return err
	}
	open, err := turnsOpener(a)
	if err != nil {
		return err
	}
	var ordinary []string
	if o.ordinary != "" {
		err := eval.EachLine(o.ordinary, func(_ int, line []byte) error {
			ordinary = append(ordinary, string(line))
			return nil
		})
		if err != nil {
			return err
		}
	}
	retrieve := a.RetrieveOptions()
	retrieve.Unrecorded = true
	report, failed := eval.RunTurns(ctx, open, sets, eval.TurnsOptions{
		Folder: o.work, Keep: o.keep, Retrieve: retrieve, Ordinary: ordinary, Variants: o.variants,
		Progress: func(name string, done, total int) { a.note("%d of %d: %s", done, total, name) }})
	if len(report.Turns) == 0 {
		return failed
	}
	if a.json {
		err = a.printJSON(report)
	} else {
		text := report.Table()
		if a.verbose {
			text += report.Details()
		}
		err = a.print(text)
	}
	if err != nil || failed != nil {
		return errors.Join(failed, err)
	}
	if o.baseline != "" {
		data, err := json.MarshalIndent(report.Baseline(), "", "  ")
		if err == nil {
			err = writeBaseline(o.baseline, append(data, '\n'))
		}
		if err != nil {
			return err
		}
	}
	if o.gate == "" {
		return nil
	}
	if err := report.PassGate(o.gate); err != nil {
		return err
	}
	a.note("gate %s: passed on %d turns", o.gate, len(report.Turns))
	return nil
}

// turnsOpener opens memories of sets of turns with the configured engine and embedder.
func turnsOpener(a *cli) (eval.Opener, error) {
	engine, err := app.ChooseEngine(a.Settings.Engine, a.Origin["engine"], "", 0, app.EngineNames()).Writable()
	if err != nil {
		return nil, err
	}
	at, err := a.Folders()
	if err != nil {
		return nil, err
	}
	embedder, err := a.Index().Embedder(at)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		return core.Open(ctx, core.Options{
			Folder: folder, Sources: sources, Engine: engine, Embedder: embedder, Freshness: -1,
			EmbedTimeout: measuredTimeout, Logger: a.Log})
	}, nil
}

// measuredTimeout is generous: figures must not depend on the machine's load.
const measuredTimeout = 5 * time.Minute
