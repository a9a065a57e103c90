// Command readers asks blind readers which lines of a list they would open, and scores them.
//
//	memcore eval turns --data DIR --json > report.json
//	go -C lab run ./readers make -data DIR -report FILE -items FILE -key FILE [-answers FILE -reader NAME -instruction NAME]
//	go -C lab run ./readers score -key FILE -items FILE -answers FILE
//
// make writes what a reader may see into -items, one JSON object a line, and what it must not see
// into -key. With -answers, a reader and an instruction it leaves out what that reader has answered
// before: give it all of these items, and append its answers. An answer is a line
//
//	{"reader": "a", "instruction": "selective", "id": "…", "open": ["name", …]}
//
// score wants all items, so make these without -answers.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"slices"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/lab/internal/readers"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("readers: ")
	var o options
	f := flag.NewFlagSet("readers", flag.ExitOnError)
	f.StringVar(&o.data, "data", "", "`DIR` of the sets that the report is about")
	f.StringVar(&o.report, "report", "", "`FILE` that 'memcore eval turns --json' wrote")
	f.StringVar(&o.items, "items", "", "`FILE` for readers, one item a line")
	f.StringVar(&o.key, "key", "", "`FILE` with what readers must not see, one turn a line")
	f.StringVar(&o.answers, "answers", "", "`FILE` of answers, one a line; all of them are kept in it")
	f.StringVar(&o.reader, "reader", "", "`NAME` of the reader to make items for")
	f.StringVar(&o.instruction, "instruction", "", "`NAME` of the instruction that this reader gets: selective or attentive")
	run := map[string]func(context.Context) error{"make": o.make, "score": o.score}
	if len(os.Args) < 2 || run[os.Args[1]] == nil {
		log.Fatal("want make or score")
	}
	_ = f.Parse(os.Args[2:]) // it ends the program
	if err := run[os.Args[1]](context.Background()); err != nil {
		log.Fatal(err)
	}
}

type options struct {
	data, report, items, key, answers, reader, instruction string
}

func (o *options) make(ctx context.Context) error {
	if o.data == "" || o.report == "" || o.items == "" || o.key == "" {
		return errors.New("make wants -data, -report, -items and -key")
	}
	sets, err := eval.ReadTurns(o.data)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(o.report)
	if err != nil {
		return err
	}
	var report eval.TurnsReport
	if err := json.Unmarshal(text, &report); err != nil {
		return fmt.Errorf("read report %s: %w", o.report, err)
	}
	items, keys, err := readers.Make(ctx, sets, report)
	if err != nil {
		return err
	}
	if o.reader != "" {
		if readers.Instructions[o.instruction] == "" {
			return fmt.Errorf("-instruction is %q, want selective or attentive", o.instruction)
		}
		known, err := readAll[readers.Answer](o.answers)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		items = slices.DeleteFunc(items, func(i readers.Item) bool {
			return slices.ContainsFunc(known, func(a readers.Answer) bool {
				return a.ID == i.ID && a.Reader == o.reader && a.Instruction == o.instruction
			})
		})
		log.Print(readers.Instructions[o.instruction])
	}
	log.Printf("%d items of %d turns", len(items), len(keys))
	return errors.Join(writeAll(o.items, items), writeAll(o.key, keys))
}

func (o *options) score(context.Context) error {
	keys, err := readAll[readers.Key](o.key)
	if err != nil {
		return err
	}
	items, err := readAll[readers.Item](o.items)
	if err != nil {
		return err
	}
	answers, err := readAll[readers.Answer](o.answers)
	if err != nil {
		return err
	}
	fmt.Print(readers.Table(readers.ScoreAll(keys, answers), readers.Agreements(items, answers)))
	return nil
}

func readAll[T any](path string) (all []T, err error) {
	err = eval.EachLine(path, func(_ int, line []byte) error {
		var one T
		err := json.Unmarshal(line, &one)
		all = append(all, one)
		return err
	})
	return all, err
}

func writeAll[T any](path string, all []T) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(file)
	lines.SetEscapeHTML(false)
	for _, one := range all {
		err = errors.Join(err, lines.Encode(one))
	}
	return errors.Join(err, file.Close())
}
