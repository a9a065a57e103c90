// Command sets measures retrieval on public data sets: recall, rank, what turns get, other
// thresholds.
//
//	go -C lab run ./sets run -data DIR,DIR        each collection by itself
//	go -C lab run ./sets mixed -data DIR,DIR      small memories made of parts of several
//
// A DIR has collections in BEIR's layout (corpus.jsonl, queries.jsonl and qrels.tsv). Each is
// indexed in a temporary folder, with cached vectors where there are some. -gate compares with what
// an earlier run wrote with -out.
//
// mixed asks each memory as a turn does: questions that it answers, and questions to collections
// outside it. Of the first, the table has the share that gets nothing, the share that gets an
// answer, and how much of what they get is relevant. Of the others it has the share that gets
// nothing: all of them, those to sister collections (other chats), and those that a set itself
// marks as unanswerable.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/lab/internal/memories"
	"github.com/memcore/memcore/lab/internal/sets"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sets: ")
	if len(os.Args) < 2 || os.Args[1] != "run" && os.Args[1] != "mixed" {
		log.Fatal("want run or mixed, with -data")
	}
	var o options
	f := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	f.Var(&o.data, "data", "`DIR`s of the collections, or globs of such folders, separated by commas")
	f.StringVar(&o.pack, "pack", "", "`FILE` of a model pack to embed with, or none (default: the built-in model)")
	f.StringVar(&o.out, "out", "", "`FILE` for the report as JSON")
	switch os.Args[1] {
	case "run":
		f.StringVar(&o.level, "level", sets.LevelDocument, "what a hit counts as: its `document` or its session")
		f.StringVar(&o.gate, "gate", "", "`FILE` of an earlier -out: show what changed, and fail if recall, MRR or nDCG is lower, and not by chance")
		f.IntVar(&o.failing, "failing", 10, "`N` questions at most to list that a turn answers badly")
	case "mixed":
		o.mixed.Sizes = []int{5, 20, 100, 500}
		f.Var((*memories.Numbers)(&o.mixed.Sizes), "sizes", "`CHUNKS` of a memory, about")
		f.IntVar(&o.mixed.Each, "each", 8, "`NUMBER` of memories of each size")
		f.Uint64Var(&o.mixed.Seed, "seed", 1, "`SEED` of the choice")
	}
	_ = f.Parse(os.Args[2:]) // it ends the program
	if err := o.run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

type options struct {
	data             memories.Names
	pack, out, level string
	gate             string
	failing          int
	mixed            sets.MixedOptions
}

func (o options) run(ctx context.Context, what string) error {
	if len(o.data) == 0 {
		return errors.New("-data is empty, want folders of collections")
	}
	collections, err := sets.CollectionsOf(o.data)
	if err != nil {
		return err
	}
	for _, line := range sets.UndatedNotes(collections) {
		log.Print(line)
	}
	embedder, err := memories.Embedder(o.pack)
	if err != nil {
		return err
	}
	if what == "mixed" {
		return o.runMixed(ctx, memories.Opener(embedder), collections)
	}
	report, cutOff := sets.RunAll(ctx, memories.Opener(embedder), collections, sets.Options{Level: o.level,
		Options: eval.Options{Progress: func(name string, done, total int) { log.Printf("%d of %d: %s", done, total, name) }}})
	if len(report.Queries) == 0 {
		return cutOff
	}
	fmt.Print(report.Table(), report.Failing(o.failing))
	err = errors.Join(cutOff, o.write(report))
	if err != nil || o.gate == "" {
		return err
	}
	comparison, err := report.PassGate(o.gate)
	if comparison.Queries > 0 {
		fmt.Print("\n", comparison.Table())
	}
	return err
}

func (o options) runMixed(ctx context.Context, open eval.Opener, collections []sets.Collection) error {
	small, err := sets.Mixed(collections, o.mixed)
	if err != nil {
		return err
	}
	report, err := sets.RunMixed(ctx, open, small, func(done, total int) { log.Printf("%d of %d memories", done, total) })
	if err != nil {
		return err
	}
	fmt.Print(report.Table())
	return o.write(report)
}

// write writes a report to -out.
func (o options) write(report any) error {
	if o.out == "" {
		return nil
	}
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, append(text, '\n'), 0o644)
}
