package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
)

func statusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say what is indexed and whether it is well",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withMemory(cmd.Context(), func(m *core.Manager) error {
				status, err := m.Status(cmd.Context())
				if err != nil {
					return err
				}
				if a.flags.json {
					return a.printJSON(status)
				}
				return a.printStatus(status)
			})
		},
	}
}

func (a *app) printStatus(s core.Status) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("state", "%s", s.State)
	row("workspace", "%s", a.project)
	row("index", "%s", s.Folder)
	for _, from := range s.Sources {
		row("source", "%s", from)
	}
	if s.State == core.StateReady || s.State == core.StateBuilding {
		row("documents", "%s, %s", count(s.Documents["markdown"], "Markdown file"), count(s.Documents["conversation"], "conversation"))
		row("chunks", "%d, of which %d have a vector", s.Chunks, s.Embedded)
		row("embedder", "%s", or(s.Embedder, "none"))
		row("engine", "%s", s.Engine)
		row("vectors", "%s", statsText(s.Vectors))
		row("keywords", "%s", statsText(s.Keywords))
		row("updated", "%s", s.Updated.Local().Format(time.DateTime))
	}
	if s.Stale != nil {
		row("stale", "%s %s", count(s.Stale.Files, "file"), s.Stale.Reason)
	}
	for _, problem := range s.Problems {
		row("problem", "%s", problem)
	}
	return w.Flush()
}

func or(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}

func statsText(s store.Stats) string {
	return fmt.Sprintf("%s, %.1f MB, %s, %s", count(s.Records, "record"), float64(s.Bytes)/1e6, count(s.Fragments, "fragment"), count(s.Deleted, "deleted row"))
}
