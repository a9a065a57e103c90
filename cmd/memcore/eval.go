package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/eval/page"
	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/workspace"
)

func evalCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure retrieval on labelled data",
		Args:  cobra.ArbitraryArgs,
		RunE:  helpOrUnknown,
	}
	cmd.AddCommand(evalInitCommand(a), evalRunCommand(a), evalTurnsCommand(a), evalCompareCommand(a), evalFitCommand(a), evalMixedCommand(a), evalInjectionCommand(a))
	return cmd
}

func evalRunCommand(a *app) *cobra.Command {
	var data, format, level, gate, baseline, html string
	var failing, limit int
	var seed uint64
	cmd := &cobra.Command{
		Use:   "run --data DIR|FILE",
		Short: "Measure retrieval on a data set, or on your own memory",
		Long: `Measure recall, rank, what turns would be given and what thresholds would do.

FILE.yaml has cases for the memory of this workspace as it is indexed: questions and what has to come
back; 'memcore eval init' drafts one. A DIR has collections (corpus.jsonl, queries.jsonl and qrels.tsv in
the layout of BEIR), FILE.json those of LoCoMo or LongMemEval as published. Each is indexed in a temporary folder.
Vectors come from the cache where it has them. With --gate, a run that does worse than an earlier one fails.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if data == "" {
				return usagef("--data is empty, want a folder of collections or a file of cases ('memcore eval init' drafts one)")
			}
			if !slices.Contains(eval.Levels, level) {
				return usagef("--level is %q, want one of %s", level, strings.Join(eval.Levels, ", "))
			}
			if !slices.Contains([]string{"", eval.FormatBEIR, eval.FormatLoCoMo, eval.FormatLongMemEval}, format) {
				return usagef("--format is %q, want %s, %s or %s", format, eval.FormatBEIR, eval.FormatLoCoMo, eval.FormatLongMemEval)
			}
			if limit < 0 || failing < 0 {
				return usagef("--limit is %d and --failing is %d, want at least 0", limit, failing)
			}
			report, cutOff := a.evaluate(cmd.Context(), data, format, level, eval.Draw{Limit: limit, Seed: seed})
			if cutOff != nil && len(report.Queries) == 0 {
				return cutOff
			}
			var err error
			if a.flags.json {
				err = a.printJSON(report)
			} else {
				err = a.print(report.Table() + report.Failing(failing))
			}
			if err == nil && html != "" {
				err = a.writePage(html, data, report)
			}
			if cutOff != nil {
				a.note("the run was cut off after %d questions; the figures are of these", len(report.Queries))
				return errors.Join(cutOff, err)
			}
			if err == nil && baseline != "" {
				err = writeBaseline(baseline, report)
			}
			if err != nil || gate == "" {
				return err
			}
			return a.passGate(gate, report)
		},
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", "", "`DIR` of the collections, or a glob of such folders; a JSON file of LoCoMo or LongMemEval; or a YAML file of cases")
	a.engineFlag(f)
	f.StringVar(&format, "format", "", "`FORMAT` of --data: beir, locomo or longmemeval (default: what it looks like)")
	f.StringVar(&html, "html", "", "`FILE` for the report as one HTML page with charts and the questions that went worst")
	f.StringVar(&baseline, "baseline", "", "`FILE` to write for the --gate of later runs: the scores of each question")
	f.StringVar(&gate, "gate", "", "`FILE` that an earlier run with --baseline or --json has written: fail if recall, MRR or nDCG is lower, and not by chance")
	f.IntVar(&limit, "limit", 0, "`N` questions at most, spread evenly over all of them (default: all)")
	f.Uint64Var(&seed, "seed", 1, "`SEED` by which --limit draws them")
	f.IntVar(&failing, "failing", 10, "`N` questions at most that are named because a turn answers them badly")
	f.StringVar(&level, "level", eval.LevelDocument, "what a hit counts as: its `document`, session or turn, or as the chunk it is")
	return cmd
}

func evalCompareCommand(a *app) *cobra.Command {
	var html string
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two runs query by query",
		Long: `Compare two files that 'memcore eval run --json' has written: the change of each score, its 95 % interval by bootstrap, how
likely it is by chance (randomisation test), and the queries that moved most.`,
		Args: arguments(cobra.ExactArgs(2), "the reports of two runs"),
		RunE: func(_ *cobra.Command, args []string) error {
			comparison, after, err := compareFiles(args[0], args[1])
			if err == nil && html != "" {
				err = a.writeFile(html, func(w io.Writer) error {
					return page.WriteCompared(w, filepath.Base(args[0])+" and "+filepath.Base(args[1]), after, comparison)
				})
			}
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(comparison)
			}
			return a.print(comparison.Table())
		},
	}
	cmd.Flags().StringVar(&html, "html", "", "`FILE` for the later run as one HTML page, with what has changed")
	return cmd
}

func compareFiles(before, after string) (c eval.Comparison, later eval.Report, err error) {
	earlier, err := readReport(before)
	if err != nil {
		return c, later, err
	}
	if later, err = readReport(after); err != nil {
		return c, later, err
	}
	c, err = eval.Compare(earlier, later)
	return c, later, err
}

func readReport(path string) (eval.Report, error) {
	file, err := os.Open(path)
	if err != nil {
		return eval.Report{}, err
	}
	defer file.Close()
	report, err := eval.ReadReport(file)
	if err != nil {
		return eval.Report{}, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}

func writeBaseline(name string, report eval.Report) error {
	data, err := json.Marshal(report.Baseline())
	if err != nil {
		return err
	}
	// A line a question, so that changes of a file that is kept beside the code can be read.
	data = bytes.ReplaceAll(data, []byte(`{"collection"`), []byte("\n{\"collection\""))
	if err := writeWhole(name, append(data, '\n')); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	return nil
}

func (a *app) writePage(name, data string, report eval.Report) error {
	title := fmt.Sprintf("%s, %s", filepath.Base(data), time.Now().Format(time.DateOnly))
	return a.writeFile(name, func(w io.Writer) error { return page.Write(w, title, report) })
}

func (a *app) writeFile(name string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return fmt.Errorf("report %s: %w", name, err)
	}
	if err := writeWhole(name, text.Bytes()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	a.note("report: %s", name)
	return nil
}

// writeWhole writes a file that the user named, so that it is the old one or the new one at any moment. What is no file, such as a pipe, is
// written to as it is.
func writeWhole(name string, data []byte) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o600)
	}
	return beneath.Replace(filepath.Dir(path), filepath.Base(path), data, 0o600)
}

// gated are the scores that must not fall.
var gated = []string{"recall@5", "recall@10", "mrr", "ndcg@10"}

// passGate fails if a run does worse than an earlier one.
func (a *app) passGate(path string, report eval.Report) error {
	baseline, err := readReport(path)
	if err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	comparison, err := eval.Compare(baseline, report)
	if err != nil {
		return fmt.Errorf("gate %s: %w", path, err)
	}
	var fallen []string
	for _, c := range comparison.Fallen(gated...) {
		fallen = append(fallen, fmt.Sprintf("%s from %.4f to %.4f (p = %.3f)", c.Score, c.Before, c.After, c.P))
	}
	if len(fallen) > 0 {
		return fmt.Errorf("gate %s: fell %s", path, strings.Join(fallen, ", "))
	}
	a.note("gate %s: passed on %d queries", path, comparison.Queries)
	return nil
}

// draftName is where a draft goes if nothing else is said.
const draftName = "memcore-eval.yaml"

func evalInitCommand(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Draft questions to your own memory",
		Long: `Write a file of cases for 'memcore eval run' (default ` + draftName + `): sentences from your documents with what they
say taken out, for you to turn into questions, and small talk that has to get nothing.`,
		Args: arguments(cobra.MaximumNArgs(1), "at most one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := draftName
			if len(args) > 0 {
				name = args[0]
			}
			return a.draft(cmd.Context(), name, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE")
	return cmd
}

func (a *app) draft(ctx context.Context, name string, force bool) error {
	at, err := a.place()
	if err != nil {
		return err
	}
	registered, err := workspace.Load(at.sources)
	if err != nil {
		return err
	}
	text, err := eval.Draft(ctx, a.projectSources(registered))
	if err != nil {
		return fmt.Errorf("draft cases: %w", err)
	}
	if force {
		err = writeWhole(name, text)
	} else {
		path := paths.Absolute(name)
		err = beneath.Create(filepath.Dir(path), filepath.Base(path), text, 0o600)
	}
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists; name another file, or overwrite it with --force", name)
	}
	if err != nil {
		return fmt.Errorf("draft cases: %w", err)
	}
	return a.print(fmt.Sprintf("%s drafted: make questions of its sentences, then run\n  memcore eval run --data %s\n", name, name))
}

// evaluateOwn asks the memory of this workspace the cases of a file.
func (a *app) evaluateOwn(ctx context.Context, path string, draw eval.Draw) (report eval.Report, err error) {
	cases, err := eval.ReadCases(path)
	if err != nil {
		return report, err
	}
	err = a.withMemory(ctx, func(m *core.Manager) error {
		status, err := m.Status(ctx)
		if err != nil {
			return err
		}
		if status.State == core.StateMissing {
			return usagef("nothing is indexed here yet: memcore index")
		}
		report, err = eval.RunCases(ctx, m, filepath.Base(path), draw.Cases(cases), eval.Options{})
		return err
	})
	return report, err
}

func (a *app) evaluate(ctx context.Context, data, format, level string, draw eval.Draw) (eval.Report, error) {
	if ext := filepath.Ext(data); ext == ".yaml" || ext == ".yml" {
		return a.evaluateOwn(ctx, data, draw)
	}
	open, _, err := a.collectionOpener()
	if err != nil {
		return eval.Report{}, err
	}
	collections, err := eval.Collections(data, format)
	if err != nil {
		return eval.Report{}, err
	}
	a.noteUndated(collections)
	return eval.RunAll(ctx, open, draw.From(collections), eval.Options{
		Level:    level,
		Progress: func(name string, done, total int) { a.note("%d of %d: %s", done, total, name) },
	})
}

// undatedNamed is how many dates that were not understood are named, before the rest is counted.
const undatedNamed = 5

// noteUndated says which dates were not understood: what has them is measured as if it had no time.
func (a *app) noteUndated(collections []eval.Collection) {
	var all []string
	for _, c := range collections {
		all = append(all, c.Undated...)
	}
	for _, one := range all[:min(undatedNamed, len(all))] {
		a.note("%s is not understood, and left out; want one like 2026-03-02, 2026-03-02T15:04:05Z or 2026/03/02 (Mon) 15:04", one)
	}
	if len(all) > 0 {
		a.note("%d dates are not understood; what has them counts as having no time", len(all))
	}
}
