// Command embedbench measures the embedder inside the program, on generated Markdown in an empty
// home: the time to index it, the embedder alone on the same text, and a process that embeds one
// question.
//
//	embedbench -memcore FILE [-pack FILE] [-tokens N]
//
// "go test -bench Embed ./embed/minilm" measures the embedder by length of text.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/memcore/memcore/lab/internal/figures"
)

var (
	program = flag.String("memcore", "../bin/memcore", "the program to measure")
	e5Pack  = flag.String("pack", "", "pack of multilingual-e5-small, to be measured instead of the built-in model")
	tokens  = flag.Int("tokens", 1_000_000, "how much to index")
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("embedbench: ")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	fmt.Printf("%s, %d cores, %s, %s\n\n", figures.Processor(), runtime.NumCPU(), runtime.Version(), time.Now().Format(time.DateOnly))
	if err := indexing(ctx); err != nil {
		log.Fatal(err)
	}
}
