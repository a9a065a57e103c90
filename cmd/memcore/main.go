// Command memcore gives AI agents a memory: it indexes Markdown files and conversations, and finds
// the passages that matter for each turn.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/memcore/memcore/cmd/memcore/early"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

// Exit codes, as in docs/cli.md and the root command's help.
const (
	exitOK          = 0   // also if nothing was found
	exitFailure     = 1   // all other errors
	exitUsage       = 2   // flags, arguments or configuration are wrong
	exitPartly      = 3   // index: done, but some files could not be read
	exitInterrupted = 130 // ctrl-C
)

func main() { os.Exit(run(os.Args[1:], early.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// net/http prints there what a server sends unasked, which may repeat a key.
	log.SetOutput(io.Discard)
	// The first signal stops the work and keeps what is done; the second kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { <-ctx.Done(); stop() }()

	a := newCLI(stdin, stdout, stderr)
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if isHook(args) {
		return exitOK // other codes stop agents
	}
	if ctx.Err() != nil && err != nil {
		fmt.Fprintln(a.stderr, "memcore: interrupted; what was done so far is kept, the same command goes on from there")
		return exitInterrupted
	}
	return report(err, a.stderr)
}

// report prints an error with its hint, and returns the exit code.
func report(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return exitOK
	}
	fmt.Fprintf(stderr, "memcore: %s\n", plain.OneLine(err.Error())) // it may quote foreign names
	if hint := kind.HintOf(err); hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", plain.OneLine(hint))
	}
	switch partly := (*partlyError)(nil); {
	case errors.As(err, &partly):
		return exitPartly
	case kind.Of(err) == kind.BadInput:
		return exitUsage
	}
	return exitFailure
}

// A partlyError means that some files could not be read.
type partlyError struct{ files int }

func (e *partlyError) Error() string {
	return plain.Count(e.files, "file") + " could not be read; everything else is indexed"
}
