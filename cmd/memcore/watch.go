package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
)

func watchCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Keep the index fresh as files change, until interrupted",
		Long: `Index, then follow the files of the workspace's memory and index again whenever something has changed, within a second. The daemon does the same for the
workspaces that are used; without either, each query looks for itself.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := a.place()
			if err != nil {
				return err
			}
			engine, err := a.engineOf(at).writable()
			if err != nil {
				return err
			}
			return a.withEngine(cmd.Context(), at, engine, func(m *core.Manager) error { return a.watch(cmd.Context(), m) })
		},
	}
}

func (a *app) watch(ctx context.Context, m *core.Manager) error {
	first := true
	err := m.Watch(ctx, core.WatchOptions{Indexed: func(report core.IndexReport, err error) {
		switch {
		case err != nil:
			a.note("index: %v", err)
		case a.flags.json:
			_ = a.printJSON(report) // whoever reads it may have gone
		case first || report.Written+report.Deleted > 0:
			a.note("%s: %s, %d added, %d changed, %d removed (%v)", time.Now().Format(time.TimeOnly), count(report.Documents, "document"), report.Added, report.Changed, report.Removed, report.Took.Round(time.Millisecond))
		}
		first = false
	}})
	if errors.Is(err, context.Canceled) {
		return nil // that is how it ends
	}
	return err
}
