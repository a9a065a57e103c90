// Command embedbench compares the built-in embedder with others on the same model and machine. It
// is its own module: rivals are not dependencies of memcore. run.sh starts it.
//
//	embedbench speed   [-rivals DIR] [-ollama ADDRESS | -pack FILE] [-rounds N] [-seconds S]
//	                   [-out FILE]
//	embedbench quality -rivals DIR -reference FOLDER [-data FOLDER | -texts FOLDER]
//	embedbench index   -memcore FILE [-pack FILE] [-tokens N]
//	embedbench tokens  -texts FOLDER
//
// Speed writes lines for benchstat to FILE and a table to standard output. Quality compares vectors
// with those of the published weights in f32, and fails if rounding costs too much. Index measures
// the program. Tokens compares its tokeniser's counts with those of large models.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"

	"github.com/memcore/memcore/lab/internal/figures"
)

var (
	rivalsDir = flag.String("rivals", "", "folder with ONNX Runtime and models, as run.sh makes it")
	script    = flag.String("script", "rivals.py", "the script that runs them")
	ollamaAt  = flag.String("ollama", "", "address of an Ollama server that has all-minilm")
	rounds    = flag.Int("rounds", 7, "how often everything is measured in turn")
	seconds   = flag.Float64("seconds", 0.4, "how long one measurement lasts at least")
	out       = flag.String("out", filepath.Join(os.TempDir(), "embedbench.txt"), "file for benchstat")
	data      = flag.String("data", "", "folder with locomo/, for the recall of its questions")
	textsDir  = flag.String("texts", ".", "folder with Markdown whose sentences are compared if there is no -data")
	reference = flag.String("reference", "embed/minilm/testdata", "folder with texts.jsonl and reference.f32, to check ONNX Runtime by")
	program   = flag.String("memcore", "bin/memcore", "the program to measure")
	e5Pack    = flag.String("pack", "", "pack of multilingual-e5-small, to be measured instead of the built-in model")
	tokens    = flag.Int("tokens", 1_000_000, "how much to index")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("embedbench: ")
	do := map[string]func(context.Context) error{"speed": speed, "quality": quality, "index": indexing, "tokens": countTokens}
	if len(os.Args) < 2 || do[os.Args[1]] == nil {
		log.Fatal("want speed, quality, index or tokens")
	}
	if err := flag.CommandLine.Parse(os.Args[2:]); err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Printf("%s, %d cores, %s, %s\n\n", figures.Processor(), runtime.NumCPU(), runtime.Version(), time.Now().Format(time.DateOnly))
	if err := do[os.Args[1]](ctx); err != nil {
		log.Fatal(err)
	}
}
