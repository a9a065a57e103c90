// Command injection fits the weights of the detector of injections, and reports how many attacks it
// catches and how many benign texts it flags, by source and language: in a cross-validation, in one
// that leaves out one source at a time, and on the texts that are held back. Near duplicates are
// never on both sides.
//
//	go -C lab run ./injection -data FILE -out ../internal/text/injection/models/injection.json
//	go -C lab run ./injection -data FILE -check
//
// FILE has one text a line: {"text", "kind", "source", "lang", "held", "spans", "weight"}. kind is
// attack, note, hard (benign, in the words of attacks) or buried (an attack at spans of bytes).
// Command injectiontexts writes such a file.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/memcore/memcore/lab/internal/injection"
)

type options struct {
	data, out    string
	folds        int
	quick, check bool
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("injection: ")
	var o options
	flag.StringVar(&o.data, "data", "", "`FILE` of the labelled texts")
	flag.StringVar(&o.out, "out", "", "`FILE` to write the model to (default: only report)")
	flag.BoolVar(&o.check, "check", false, "fit nothing, measure the shipped model")
	flag.IntVar(&o.folds, "folds", 5, "folds of the cross-validation, `N`")
	flag.BoolVar(&o.quick, "quick", false, "leave out the cross-validation by source")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func (o options) run(ctx context.Context) error {
	switch {
	case o.data == "":
		return errors.New("-data is empty, want a file of labelled texts")
	case o.folds < 2:
		return fmt.Errorf("-folds is %d, want at least 2", o.folds)
	}
	texts, err := injection.Load(o.data)
	if err != nil {
		return fmt.Errorf("reading labelled texts: %w", err)
	}
	if o.check {
		_, err = injection.Check(ctx, texts, os.Stdout)
		return err
	}
	model, err := injection.Run(ctx, texts, os.Stdout, injection.Options{Folds: o.folds, Quick: o.quick})
	if err != nil || o.out == "" {
		return err
	}
	text, err := json.MarshalIndent(model, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.out, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the model: %w", err)
	}
	log.Printf("model: %s", o.out)
	return nil
}
