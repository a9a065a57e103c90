package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/turn"
)

// maxRequest is the largest chat request that is read.
const maxRequest = 64 << 20

func injectCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "inject",
		Short: "Add memory to a chat request: JSON on standard input, JSON on standard output",
		Long: `Read an OpenAI-style chat request, or an array of messages, from standard input and print it with the
memory block as a message before the last user message. Everything else stays as it is. If there is
nothing to add, or the memory fails, the request comes out unchanged.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request, err := io.ReadAll(io.LimitReader(a.stdin, maxRequest+1))
			if err != nil {
				return fmt.Errorf("read the request from standard input: %w", err)
			}
			if len(request) > maxRequest {
				return fmt.Errorf("the request on standard input is over %d MB", maxRequest>>20)
			}
			if !a.settings.Enabled {
				a.note("nothing was injected: %s", turnedOff)
				return a.print(strings.TrimRight(string(request), "\n") + "\n")
			}
			a.logFrom(slog.LevelWarn) // a failure of memory is no error here, and yet to be said
			return a.withMemory(cmd.Context(), func(m *core.Manager) error {
				with, report, err := turn.JSON(cmd.Context(), m, request, turn.Options{Retrieve: a.retrieveOptions(queryFlags{}), Logger: a.log})
				if err != nil {
					return usagef("inject: %w", err)
				}
				a.notes(core.Result{State: report.State, Degraded: report.Degraded, Stale: report.Stale})
				if report.Reason != "" {
					a.note("nothing was injected: %s", report.Reason)
				}
				return a.print(strings.TrimRight(string(with), "\n") + "\n")
			})
		},
	}
}
