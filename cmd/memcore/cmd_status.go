package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/inventory"
	"github.com/memcore/memcore/internal/app/models"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/store"
)

func statusCommand(a *cli) *cobra.Command {
	var all, usage bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how memory stands in this project, and with --usage what agents got",
		Long: `Show the state of the project's index, the agents that are set up, what waits for your yes, whether
the folder is trusted, and problems with what to do. --all also shows the parts of the index, and
what is kept of other projects. 'memcore doctor' looks for causes.

With --usage, show instead what hooks gave agents in the last 30 days, and how much of it they opened.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if usage {
				return printUsage(a)
			}
			status, err := measureStatus(cmd.Context(), a)
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(status)
			case all:
				return printWholeStatus(a, status)
			}
			return printStatus(a, status)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also show the parts of the index, and other projects")
	cmd.Flags().BoolVar(&usage, "usage", false, "show what agents got and opened")
	return cmd
}

func measureStatus(ctx context.Context, a *cli) (status, error) {
	known, err := a.Memory().Status(ctx)
	if err != nil {
		return status{}, err
	}
	at, err := a.Folders()
	if err != nil {
		return status{}, err
	}
	s := statusOf(known, a.Index().Engine(at))
	waiting, err := a.Notes().Proposals().Waiting()
	if err != nil {
		s.Problems = append(s.Problems, err.Error())
	}
	s.Proposals = len(waiting)
	if s.Projects, err = inventory.Measure(ctx, a.Config); err != nil {
		s.Problems = append(s.Problems, err.Error())
	}
	s.Service = app.RemoteOf(a.Workspace).State(ctx)
	s.SessionsKept = a.Settings.Sessions.Keep
	s.knowing = models.Folder(at.Models()).Knowing(a.Settings.Embedder)
	s.Agents = []string{}
	if binary, err := setup.Binary(os.Args[0]); err == nil {
		for _, agent := range setup.Find(a.SetupOptions()) {
			if agent.IsSetUp(binary) {
				s.Agents = append(s.Agents, agent.Title)
			}
		}
	}
	m, err := a.Curated().Layer().Load(ctx)
	if err != nil {
		return s, err
	}
	s.Trusted, s.untrusted = m.Trusted, len(a.Curated().Untrusted(ctx, m))
	return s, nil
}

// A status is the JSON of status.
type status struct {
	core.Status
	Proposals    int      `json:"proposals,omitempty"` // waiting
	EngineReason string   `json:"engineReason"`
	EngineNext   string   `json:"engineNext,omitempty"` // that indexing moves to, and why; "" for the same
	Engines      []string `json:"engines"`              // of this build, the default first

	// Service is the memory service, if one is asked, too.
	Service *app.RemoteState `json:"service,omitempty"`

	Projects     []inventory.ProjectSize `json:"projects"`               // all of which anything is kept
	SessionsKept string                  `json:"sessionsKept,omitempty"` // for how long; "" is for ever

	// Agents are the titles of those that are set up.
	Agents  []string `json:"agents"`
	Trusted bool     `json:"trusted"` // the project's folder

	untrusted int      // memory files that do not count because of that
	knowing   []string // commands, see models.Folder.Knowing
}

func statusOf(known core.Status, engines app.EngineChoice) status {
	s := status{Status: known, EngineReason: engines.Reason, Engines: app.EngineNames()}
	if engines.InUse != engines.Next && app.IsBuilt(engines.Next) {
		s.EngineNext = fmt.Sprintf("%s (%s)", engines.Next, engines.NextReason)
	}
	reported := slices.ContainsFunc(s.Problems, func(text string) bool { return strings.Contains(text, app.NotBuilt(engines.InUse).Error()) })
	if problem := engines.Problem(); problem != "" && !reported {
		s.Problems = append(s.Problems, problem)
	}
	return s
}

// printStatus prints a person's view of the project.
func printStatus(a *cli, s status) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	row := func(name string, colour color.Attribute, format string, args ...any) {
		fmt.Fprintf(w, "%s\t%s\n", name, a.stdout.paint(colour, plain.Line(format, args...)))
	}
	row("project", color.Reset, "%s", a.Project)
	switch s.State {
	case core.StateReady:
		row("index", color.FgGreen, "ready: %s, %s, %s, updated %s", plain.Count(s.Documents["markdown"], "Markdown file"), plain.Count(s.Documents["conversation"], "conversation"),
			plain.Count(s.Chunks, "chunk"), s.Updated.Local().Format(time.DateTime))
		if s.Embedder != "" && s.Pending > 0 {
			row("", color.FgYellow, "%d chunks have no vector yet, and are found by their words only: memcore index", s.Pending)
		}
		if away := unreached(a, s); away != "" {
			row("embedder", color.FgYellow, "%s", away)
		}
	case core.StateBuilding:
		row("index", color.FgYellow, "not complete, %d of %s have a vector: memcore index", s.Embedded, plain.Count(s.Chunks, "chunk"))
	case core.StateMissing:
		row("index", color.FgYellow, "%s", a.Missing(s.State))
	default: // a problem below says what to do
		row("index", color.FgRed, "%s", s.State)
	}
	if len(s.Engines) > 1 {
		row("engine", color.Reset, "%s (%s)", s.Engine, s.EngineReason)
	}
	for _, part := range lostParts(s.Status) {
		row(part[0], color.FgYellow, "%s", part[1])
	}
	if s.Logs != nil && s.Logs.Gone > 0 {
		row("kept", color.Reset, "%s", goneText(*s.Logs))
	}
	if s.Stale != nil {
		row("", color.FgYellow, "%s %s", plain.Count(s.Stale.Files, "file"), s.Stale.Reason)
	}
	if len(s.Agents) > 0 {
		row("agents", color.Reset, "%s", strings.Join(s.Agents, ", "))
	} else {
		row("agents", color.FgYellow, "none is set up: memcore init")
	}
	if s.Service != nil {
		row("service", color.Reset, "%s", s.Service.Text())
	}
	for _, p := range s.Projects {
		if p.Path == a.Project && p.Sessions > 0 {
			row("sessions", color.Reset, "%d", p.Sessions)
		}
	}
	if s.Proposals > 0 {
		row("waiting", color.FgYellow, "%s for your yes: memcore memory pending", plain.Waits(s.Proposals))
	}
	switch {
	case s.Trusted:
		row("trust", color.Reset, "the folder is trusted: its memory files instruct agents")
	case s.untrusted > 0:
		row("trust", color.FgYellow, "not trusted, so memory files instruct no agent (%d here): memcore trust list ., memcore trust add", s.untrusted)
	}
	for _, problem := range s.Problems {
		row("problem", color.FgRed, "%s", problem)
	}
	return w.Flush()
}

// unreached says that the index has no vector of a server; "" otherwise.
func unreached(a *cli, s status) string {
	if s.Embedder != "" || s.Pending == 0 || !a.Settings.EmbedsElsewhere() {
		return ""
	}
	return fmt.Sprintf("%s: not reachable when the index was made, so words alone answer: memcore doctor says why", a.Settings.Embedder)
}

// printWholeStatus also prints the parts of the index, and other projects.
func printWholeStatus(a *cli, s status) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, plain.Line(format, args...)) }
	row("state", "%s", s.State)
	row("workspace", "%s", a.Project)
	row("index", "%s", s.Folder)
	there, absent := sourcesThere(a, s.Sources)
	for _, from := range there {
		row("source", "%s", from)
	}
	if absent > 0 {
		row("", "and %s where nothing is yet (--json has them)", plain.Count(absent, "place"))
	}
	row("engine", "%s (%s)", s.Engine, s.EngineReason)
	if s.EngineNext != "" {
		row("next engine", "%s, when 'memcore index' runs", s.EngineNext)
	}
	if s.State == core.StateReady || s.State == core.StateBuilding {
		row("documents", "%s, %s", plain.Count(s.Documents["markdown"], "Markdown file"), plain.Count(s.Documents["conversation"], "conversation"))
		if s.Logs != nil {
			row("logs", "%s", logsText(*s.Logs))
			if s.Logs.Gone > 0 {
				row("", "%s", goneText(*s.Logs))
			}
		}
		row("chunks", "%s", chunksText(s.Status))
		for _, part := range lostParts(s.Status) {
			row(part[0], "%s", part[1])
		}
		row("embedder", "%s", cmp.Or(s.Embedder, unreached(a, s), "none"))
		if text := app.UnknownLanguages(s.Unknown, s.Chunks); text != "" {
			row("languages", "%s; for one that does: %s", text, strings.Join(s.knowing, ", then "))
		}
		row("vectors", "%s", statsText(s.Vectors))
		row("keywords", "%s", statsText(s.Keywords))
		row("updated", "%s", s.Updated.Local().Format(time.DateTime))
	}
	if s.Service != nil {
		row("service", "%s", s.Service.Text())
	}
	if s.Stale != nil {
		row("stale", "%s %s", plain.Count(s.Stale.Files, "file"), s.Stale.Reason)
	}
	if s.Proposals > 0 {
		row("proposals", "%s for your yes: memcore memory pending", plain.Waits(s.Proposals))
	}
	for _, size := range sizeRows(s.Projects, a.Project, s.SessionsKept) {
		row(size[0], "%s", size[1])
	}
	for _, problem := range s.Problems {
		row("problem", "%s", problem)
	}
	return w.Flush()
}

// sourcesThere returns the sources without places in the home that do not exist, and their number:
// most people have no logs of most agents.
func sourcesThere(a *cli, all []string) (there []string, absent int) {
	for _, from := range all {
		if strings.HasPrefix(from, "~/") {
			if _, err := os.Stat(a.FileNamed(from)); errors.Is(err, fs.ErrNotExist) {
				absent++
				continue
			}
		}
		there = append(there, from)
	}
	return there, absent
}

// maxProjects are shown of those that take the most room.
const maxProjects = 5

// sizeRows are what is kept of the projects that take the most room, this one first.
func sizeRows(all []inventory.ProjectSize, own, keep string) (rows [][2]string) {
	retention := "sessions are kept for ever (memory.sessions.keep)"
	if keep != "" {
		retention = "sessions are deleted after " + keep + " (memory.sessions.keep)"
	}
	rows = append(rows, [2]string{"retention", retention})
	largest := slices.SortedStableFunc(slices.Values(all), func(a, b inventory.ProjectSize) int {
		switch own {
		case a.Path:
			return -1
		case b.Path:
			return 1
		}
		return cmp.Compare(b.Bytes, a.Bytes)
	})
	for _, p := range largest[:min(len(largest), maxProjects)] {
		text := fmt.Sprintf("%s: %s, %s", p.Path, plain.Bytes(p.Bytes), plain.Count(p.Sessions, "session"))
		if p.Gone {
			text += "; the folder is gone (if it has moved: memcore export FILE, then memcore import FILE --map OLD=NEW)"
		}
		rows = append(rows, [2]string{"kept", text})
	}
	if more := len(largest) - maxProjects; more > 0 {
		rows = append(rows, [2]string{"", fmt.Sprintf("and %s (--json has them)", plain.Count(more, "smaller project"))})
	}
	return rows
}

func statsText(s store.Stats) string {
	parts := []string{plain.Count(s.Records, "record"), fmt.Sprintf("%.1f MB", float64(s.Bytes)/1e6), plain.Count(s.Fragments, "fragment"), plain.Count(s.Deleted, "deleted row")}
	if s.Versions > 0 {
		parts = append(parts, plain.Count(s.Versions, "version"))
	}
	if s.Index != "" {
		parts = append(parts, s.Index)
	}
	if !s.Compacted.IsZero() {
		parts = append(parts, "compacted "+s.Compacted.Local().Format(time.DateTime))
	}
	return strings.Join(parts, ", ")
}

// leftOutNames name the parts left out of logs, in singular and plural.
var leftOutNames = map[string][2]string{
	chunker.LeftOutRequest:      {"request", "requests"},
	chunker.LeftOutAnnouncement: {"announcement", "announcements"},
	chunker.LeftOutShort:        {"short answer", "short answers"},
	chunker.LeftOutUnknown:      {"answer that knows nothing", "answers that know nothing"},
	chunker.LeftOutCode:         {"answer of code alone", "answers of code alone"},
	chunker.LeftOutPasted:       {"pasted text", "pasted texts"},
	chunker.LeftOutSummary:      {"summary", "summaries"},
	chunker.LeftOutTools:        {"tool call", "tool calls"},
}

// logsText counts the kept turns of logs, and the others by reason.
func logsText(s core.LogsStatus) string {
	text := fmt.Sprintf("%d of %s kept", s.Kept, plain.Count(s.Turns, "turn"))
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

// goneText says what is kept of logs that agents deleted.
func goneText(s core.LogsStatus) string {
	return fmt.Sprintf("what %s said that agents deleted, the oldest of %s, %s", plain.Count(s.Gone, "log"), s.GoneSince.Local().Format(time.DateOnly), plain.Bytes(s.GoneBytes))
}

// chunksText counts the chunks and the embedded ones.
func chunksText(s core.Status) string {
	text := fmt.Sprintf("%d, of which %d have a vector", s.Chunks, s.Embedded)
	if s.Embedder == "" || s.Pending == 0 {
		return text
	}
	return fmt.Sprintf("%s (%d %%; the rest is found by keywords until 'memcore index' has run to its end)", text, 100*s.Embedded/s.Chunks)
}

// maxLost are named of the parts that are not indexed, or have no vector.
const maxLost = 10

// lostParts are rows that name them.
func lostParts(s core.Status) (rows [][2]string) {
	add := func(name string, texts []string) {
		for _, text := range texts {
			rows = append(rows, [2]string{name, text})
			name = ""
		}
	}
	var unread []string
	for _, skip := range s.Unread {
		unread = append(unread, skip.Path+": "+skip.Reason)
	}
	add("not read", named(unread))
	if s.Logs != nil {
		var unknown []string
		for _, u := range s.Logs.Unknown {
			unknown = append(unknown, u.String())
		}
		add("not known", named(unknown))
	}
	add("set aside", setAsideTexts(s.SetAside))
	return rows
}

// named leaves out all but the first.
func named(texts []string) []string {
	if more := len(texts) - maxLost; more > 0 {
		return append(texts[:maxLost:maxLost], fmt.Sprintf("and %d more (--json has them)", more))
	}
	return texts
}

// setAsideTexts name what has no vector and why, and say what becomes of it.
func setAsideTexts(all []core.SetAside) (texts []string) {
	if len(all) == 0 {
		return nil
	}
	for _, s := range all {
		texts = append(texts, s.Source+": "+s.Reason)
	}
	heading := plain.Count(len(all), "text") + " that the embedder fails with, found by words only; tried again when the text or the embedder changes:"
	return append([]string{heading}, named(texts)...)
}
