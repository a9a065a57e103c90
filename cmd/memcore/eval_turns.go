package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/eval"
)

func evalTurnsCommand(a *app) *cobra.Command {
	var t turnsFlags
	cmd := &cobra.Command{
		Use:   "turns --data DIR [SET…]",
		Short: "Measure real prompts with judged hits",
		Long: `Measure what the prompts of real sessions are given: of those with something worth giving, the share that
gets it (hit@gold); of the others, the share that is left alone (silent@none); of what is given, the share that is
wanted (p@2) or at least related (p@1+).

DIR has a folder for each set: cases.jsonl with prompts and judgments, sessions with the logs, and states/NAME with
the Markdown and the list of logs (sessions.txt) that could be known. SET names some of them. A hit that nobody has judged
counts as noise; --verbose lists them, and the turns that went wrong.`,
		RunE: func(cmd *cobra.Command, sets []string) error {
			if t.data == "" {
				return usagef("--data is empty, want a folder of sets of turns")
			}
			if (t.keep || t.fresh) && t.work == "" || t.keep && t.fresh {
				return usagef("--keep and --fresh are for the indexes in --work, and one of them at a time")
			}
			if err := t.query.check(cmd); err != nil {
				return err
			}
			return a.evaluateTurns(cmd.Context(), t, sets)
		},
	}
	f := cmd.Flags()
	f.StringVar(&t.data, "data", "", "`DIR` of the sets, or one set")
	f.StringVar(&t.out, "out", "", "`FILE` for the report as JSON, beside the table")
	f.StringVar(&t.work, "work", "", "`DIR` that keeps indexes for the next run of the same program (default: a temporary one)")
	f.StringVar(&t.baseline, "baseline", "", "`FILE` to write for the --gate of later runs")
	f.StringVar(&t.gate, "gate", "", "`FILE` of an earlier --baseline: fail if hit, silence or precision is lower")
	f.BoolVar(&t.keep, "keep", false, "use the indexes in --work though another program made them, for changes that leave the index alone")
	f.BoolVar(&t.fresh, "fresh", false, "make the indexes in --work anew")
	f.IntVar(&t.query.limit, "limit", 0, "`N` hits at most a turn (default: as configured)")
	f.Float64Var(&t.query.minSimilarity, "min-similarity", 0, "least score `X`, 0 to 1 (default: as configured)")
	a.engineFlag(f)
	return cmd
}

type turnsFlags struct {
	data, out, work, baseline, gate string
	fresh, keep                     bool
	query                           queryFlags
}

func (a *app) evaluateTurns(ctx context.Context, t turnsFlags, names []string) error {
	sets, err := eval.ReadTurns(t.data, names...)
	if err != nil {
		return err
	}
	open, _, err := a.collectionOpener()
	if err != nil {
		return err
	}
	o := eval.TurnsOptions{
		Rebuild:  t.fresh,
		Keep:     t.keep,
		Retrieve: a.retrieveOptions(t.query),
		Progress: func(name string, done, total int) { a.note("%d of %d: %s", done, total, name) },
	}
	o.Retrieve.Unrecorded = true
	if t.work != "" {
		if o.Folder, err = filepath.Abs(t.work); err == nil {
			o.MadeBy, err = programHash()
		}
		if err != nil {
			return fmt.Errorf("keep indexes in %s: %w", t.work, err)
		}
	}
	report, failed := eval.RunTurns(ctx, open, sets, o)
	if len(report.Turns) == 0 {
		return failed
	}
	if err := a.printTurns(report, t.out); err != nil || failed != nil {
		return errors.Join(failed, err)
	}
	if t.baseline != "" {
		if err := writeJSON(t.baseline, report.Baseline()); err != nil {
			return fmt.Errorf("baseline: %w", err)
		}
	}
	if t.gate != "" {
		return a.passTurnsGate(t.gate, report)
	}
	return nil
}

func (a *app) printTurns(report eval.TurnsReport, out string) error {
	if out != "" {
		if err := writeJSON(out, report); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	if a.flags.json {
		return a.printJSON(report)
	}
	text := report.Table()
	if a.flags.verbose {
		text += report.Details()
	}
	return a.print(text)
}

func writeJSON(name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(name, append(data, '\n'))
}

func (a *app) passTurnsGate(name string, report eval.TurnsReport) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	baseline, err := eval.ReadTurnsBaseline(data)
	if err != nil {
		return fmt.Errorf("gate %s: %w", name, err)
	}
	fallen, err := report.Fallen(baseline)
	if err != nil {
		return fmt.Errorf("gate %s: %w", name, err)
	}
	if len(fallen) > 0 {
		return fmt.Errorf("gate %s: fell %s", name, strings.Join(fallen, ", "))
	}
	a.note("gate %s: passed on %d turns", name, len(report.Turns))
	return nil
}

// programHash names this program: another one may cut text otherwise.
func programHash() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer program.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, program); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
