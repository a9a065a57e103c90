// Command memcore gives an AI agent a memory: it indexes Markdown files and conversation logs and
// finds, for each turn, the few things worth knowing.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/memcore/memcore/core"
)

// Exit codes; docs/cli.md and the help of the root command list them.
const (
	exitOK          = 0   // also when nothing was found
	exitFailure     = 1   // it could not be done
	exitUsage       = 2   // flags, arguments or configuration are wrong
	exitPartly      = 3   // index: done, but some files could not be read
	exitInterrupted = 130 // ctrl-C
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// The first signal asks to stop and keep what is done; then the default is back, and a second kills.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { <-ctx.Done(); stop() }()

	root := newRoot(&app{stdin: stdin, stdout: stdout, stderr: stderr})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if isHook(args) {
		return exitOK // whatever it is: other codes stop agents
	}
	if ctx.Err() != nil && err != nil {
		fmt.Fprintln(stderr, "memcore: interrupted; what was indexed so far is kept, the same command goes on from there")
		return exitInterrupted
	}
	return report(err, stderr)
}

// report prints an error and the next step, and turns it into an exit code.
func report(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return exitOK
	}
	var partly *partlyError
	if errors.As(err, &partly) {
		fmt.Fprintf(stderr, "memcore: %s\n", oneLine(err.Error()))
		return exitPartly
	}
	fmt.Fprintf(stderr, "memcore: %s\n", oneLine(err.Error())) // names in it may be anybody's
	var hinted *hintError
	if errors.As(err, &hinted) {
		fmt.Fprintf(stderr, "hint: %s\n", oneLine(hinted.hint))
	}
	var usage *usageError
	if errors.As(err, &usage) || errors.Is(err, core.ErrOption) {
		return exitUsage
	}
	return exitFailure
}

// A usageError is a mistake in what was typed or configured.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// A hintError knows the next step.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

// A partlyError says that the work is done but for some files.
type partlyError struct{ files int }

func (e *partlyError) Error() string {
	return count(e.files, "file") + " could not be read; everything else is indexed"
}
