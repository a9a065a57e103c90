// Command memcore-service runs a node of a memory service for many tenants, and manages its tenants
// and keys.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

// Exit codes.
const (
	exitFailure     = 1   // all other errors
	exitUsage       = 2   // flags, arguments or configuration are wrong
	exitInterrupted = 130 // ctrl-C
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	// net/http prints there what a server sends unasked, which may repeat a key.
	log.SetOutput(io.Discard)
	// The first signal ends the node in good order, the second kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { <-ctx.Done(); stop() }()

	root := newRoot(newCLI(stdout, stderr))
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil || errors.Is(err, syscall.EPIPE):
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "memcore-service: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "memcore-service: %s\n", plain.OneLine(err.Error())) // it may quote foreign names
	if hint := kind.HintOf(err); hint != "" {
		fmt.Fprintf(stderr, "hint: %s\n", plain.OneLine(hint))
	}
	if kind.Of(err) == kind.BadInput {
		return exitUsage
	}
	return exitFailure
}

// A cli is what all commands share. Its workspace has the settings of all tenants.
type cli struct {
	*app.Workspace
	stdout, stderr io.Writer
	json, verbose  bool
}

func newCLI(stdout, stderr io.Writer) *cli {
	a := &cli{stdout: stdout, stderr: stderr}
	a.Workspace = &app.Workspace{Config: &config.Config{}, Version: version(), Note: a.note}
	return a
}

func newRoot(a *cli) *cobra.Command {
	root := serviceCommand(a)
	root.SilenceUsage, root.SilenceErrors, root.Version = true, true, version()
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.prepare() }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return kind.Hint(kind.As(kind.BadInput, err), "run '"+cmd.CommandPath()+" --help' for its flags")
	})
	f := root.PersistentFlags()
	f.StringVar(&a.Flags.Config, "config", "", "configuration `FILE` of all tenants instead of ~/.beans/config.yaml")
	f.BoolVar(&a.json, "json", false, "print JSON")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log more to standard error")
	return root
}

// prepare reads the configuration, and says which of its settings do not count.
func (a *cli) prepare() error {
	a.Log = slog.New(slog.NewJSONHandler(a.stderr, &slog.HandlerOptions{Level: a.level()}))
	err := a.Prepare()
	for _, text := range append(a.Mistakes, a.Ignored...) {
		a.note("warning: %s", text)
	}
	return err
}

func (a *cli) level() slog.Level {
	if a.verbose {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// note prints a message on standard error. It may quote foreign names.
func (a *cli) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, "memcore-service: %s\n", plain.OneLine(fmt.Sprintf(format, args...)))
}

func (a *cli) print(text string) error {
	_, err := io.WriteString(a.stdout, text)
	return err
}

func (a *cli) printJSON(v any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// arguments checks the number of arguments.
func arguments(check cobra.PositionalArgs, wanted string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		return kind.Hint(kind.Usagef("%s got %s, want %s", cmd.Name(), plain.Count(len(args), "argument"), wanted),
			"run '"+cmd.CommandPath()+" --help' for how to use it")
	}
}

// helpOrUnknown runs a command that only groups others.
func helpOrUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	return kind.Hint(kind.Usagef("unknown command %q", args[0]), "run '"+cmd.CommandPath()+" --help' for its commands")
}

// version returns the version of this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
