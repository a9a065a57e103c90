package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/app/plain"
)

func watchCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Keep the index fresh as files change, until interrupted",
		Long: `Index, then follow the files of the workspace and index changes within a second. The daemon does the
same for workspaces in use; without either, each query looks for changes itself.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := a.Folders()
			if err != nil {
				return err
			}
			engine, err := a.Index().Engine(at).Writable()
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancel(cmd.Context())
			var servers sync.WaitGroup
			defer servers.Wait()
			defer stop()
			servers.Go(func() { a.Index().FollowServers(ctx, at, func(warning string) { a.note("%s", warning) }) })
			return a.Index().WithEngine(ctx, at, engine, func(m *core.Manager) error { return runWatch(ctx, a, m) })
		},
	}
}

func runWatch(ctx context.Context, a *cli, m *core.Manager) error {
	first := true
	err := m.Watch(ctx, core.WatchOptions{Indexed: func(report core.IndexReport, err error) {
		switch {
		case err != nil:
			a.note("index: %v", err)
		case a.json:
			_ = a.printJSON(report) // the reader may be gone
		case first || report.Written+report.Deleted > 0:
			a.note("%s: %s, %d added, %d changed, %d removed (%v)", time.Now().Format(time.TimeOnly), plain.Count(report.Documents, "document"), report.Added, report.Changed, report.Removed, report.Took.Round(time.Millisecond))
		}
		first = false
	}})
	if errors.Is(err, context.Canceled) {
		return nil // Ctrl-C
	}
	return err
}
