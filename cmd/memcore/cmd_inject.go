package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/plain"
)

// injectTimeout is how long the command waits for memory. A proxy's client waits less.
const injectTimeout = 10 * time.Second

func injectCommand(a *cli) *cobra.Command {
	var system systemFlags
	cmd := &cobra.Command{
		Use:   "inject",
		Short: "Add memory to a chat request: JSON on standard input, JSON on standard output",
		Long: `Read an OpenAI-style chat request, or an array of messages, and print it with memory: the rules that
apply and the memory block as a message before the last user message. In a trusted folder, curated
memory, the memory index and the session's overview go to the end of the system message (--system).
Everything else stays. If there is nothing to add or memory fails, the request is printed unchanged.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := system.check(); err != nil {
				return err
			}
			request, err := a.wholeText([]string{"-"})
			if err != nil {
				return err
			}
			return inject(cmd.Context(), a, request, system)
		},
	}
	system.add(cmd.Flags())
	return cmd
}

func inject(ctx context.Context, a *cli, request string, system systemFlags) error {
	if !a.Settings.Enabled {
		a.note("nothing was injected: %s", app.TurnedOff)
		return a.printRequest(request)
	}
	a.logFrom(slog.LevelWarn) // a failure of memory is a warning here
	return a.WithService(ctx, func(s *app.Service) error {
		standing, err := s.System(system.SystemFlags)
		if err != nil {
			return err
		}
		with, report, err := turn.JSON(ctx, s.Manager, []byte(request), turn.Options{Retrieve: a.RetrieveOptions(), Timeout: injectTimeout, System: standing, Logger: a.Log})
		if err != nil {
			return kind.Usagef("inject: %w", err)
		}
		a.noteResult(core.Result{State: report.State, Degraded: report.Degraded, Stale: report.Stale})
		if report.System > 0 {
			a.note("the system message got %s of memory", plain.Count(report.System, "character"))
		}
		if report.Reason != "" {
			a.note("nothing was injected before the user's message: %s", report.Reason)
		}
		return a.printRequest(string(with))
	})
}
