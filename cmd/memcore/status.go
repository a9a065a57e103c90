package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
)

func statusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Say what is indexed and whether it is well",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := a.place()
			if err != nil {
				return err
			}
			engines := a.engineOf(at)
			return a.withEngine(cmd.Context(), at, engineNamed(engines.inUse), func(m *core.Manager) error {
				known, err := m.Status(cmd.Context())
				if err != nil {
					return err
				}
				status := statusOf(known, engines)
				if err := a.notShared(); err != nil {
					status.Problems = append(status.Problems, err.Error())
				}
				if a.flags.json {
					return a.printJSON(status)
				}
				return a.printStatus(status)
			})
		},
	}
}

// A status is what status prints as JSON.
type status struct {
	core.Status
	EngineReason string   `json:"engineReason"`         // why this one
	EngineNext   string   `json:"engineNext,omitempty"` // the one that indexing moves to, and why; "" if it is the same
	Engines      []string `json:"engines"`              // of this build, the default first
}

func statusOf(known core.Status, engines engineChoice) status {
	s := status{Status: known, EngineReason: engines.reason, Engines: engineNames()}
	if engines.inUse != engines.next && isBuilt(engines.next) {
		s.EngineNext = fmt.Sprintf("%s (%s)", engines.next, engines.nextReason)
	}
	told := slices.ContainsFunc(s.Problems, func(text string) bool { return strings.Contains(text, notBuilt(engines.inUse).Error()) })
	if problem := engines.problem(); problem != "" && !told {
		s.Problems = append(s.Problems, problem)
	}
	return s
}

func (a *app) printStatus(s status) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("state", "%s", s.State)
	row("workspace", "%s", a.project)
	row("index", "%s", s.Folder)
	for _, from := range s.Sources {
		row("source", "%s", from)
	}
	row("engine", "%s (%s)", s.Engine, s.EngineReason)
	if s.EngineNext != "" {
		row("next engine", "%s, when 'memcore index' runs", s.EngineNext)
	}
	if s.State == core.StateReady || s.State == core.StateBuilding {
		row("documents", "%s, %s", count(s.Documents["markdown"], "Markdown file"), count(s.Documents["conversation"], "conversation"))
		if s.Logs != nil {
			row("logs", "%s", logsText(*s.Logs))
		}
		row("chunks", "%s", chunksText(s.Status))
		row("embedder", "%s", or(s.Embedder, "none"))
		row("vectors", "%s", statsText(s.Vectors))
		row("keywords", "%s", statsText(s.Keywords))
		row("updated", "%s", s.Updated.Local().Format(time.DateTime))
	}
	if s.Shared != nil {
		row("shared", "%s", a.sharedText(s.Shared))
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
	parts := []string{count(s.Records, "record"), fmt.Sprintf("%.1f MB", float64(s.Bytes)/1e6), count(s.Fragments, "fragment"), count(s.Deleted, "deleted row")}
	if s.Versions > 0 {
		parts = append(parts, count(s.Versions, "version"))
	}
	if s.Index != "" {
		parts = append(parts, s.Index)
	}
	if !s.Compacted.IsZero() {
		parts = append(parts, "compacted "+s.Compacted.Local().Format(time.DateTime))
	}
	return strings.Join(parts, ", ")
}

// leftOutNames are the reasons why a turn of a log is left out, as things that can be counted: one, and several.
var leftOutNames = map[string][2]string{
	chunker.LeftOutRequest:      {"request", "requests"},
	chunker.LeftOutAnnouncement: {"announcement", "announcements"},
	chunker.LeftOutShort:        {"short answer", "short answers"},
	chunker.LeftOutCode:         {"answer of code alone", "answers of code alone"},
	chunker.LeftOutPasted:       {"pasted text", "pasted texts"},
	chunker.LeftOutSummary:      {"summary", "summaries"},
	chunker.LeftOutTools:        {"tool call", "tool calls"},
}

// logsText says how many turns of agents' logs are kept, and what the others are, the most frequent first.
func logsText(s core.LogsStatus) string {
	text := fmt.Sprintf("%d of %s kept", s.Kept, count(s.Turns, "turn"))
	reasons := slices.SortedFunc(maps.Keys(s.LeftOut), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.LeftOut[b], s.LeftOut[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, reason := range reasons {
		n, names := s.LeftOut[reason], leftOutNames[reason]
		name := names[1]
		if n == 1 {
			name = names[0]
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, cmp.Or(name, reason)))
	}
	if len(parts) == 0 {
		return text
	}
	return text + "; left out: " + strings.Join(parts, ", ")
}

// chunksText says how many chunks there are, and how far embedding has come if it is not done.
func chunksText(s core.Status) string {
	text := fmt.Sprintf("%d, of which %d have a vector", s.Chunks, s.Embedded)
	if s.Embedder == "" || s.Embedded >= s.Chunks {
		return text
	}
	return fmt.Sprintf("%s (%d %%; the rest is found by keywords until 'memcore index' has run to its end)", text, 100*s.Embedded/s.Chunks)
}
