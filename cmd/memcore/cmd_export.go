package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/app/archive"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/plain"
)

func exportCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "export DIR|FILE.tar.gz",
		Short: "Export all that memcore keeps of you, over all projects",
		Long: `Write everything of yours in all projects into a new folder or file: Markdown that memcore indexes,
curated memory, sessions, proposals, what was forgotten, the record of use, trust, settings and
cases of eval. 'memcore import' takes it in on another machine.

Markdown gets front matter of the Open Knowledge Format (OKF v0.2), which import takes out again.
Secrets are taken out (memory.redact). What is left out is listed.`,
		Args: arguments(cobra.ExactArgs(1), "a folder or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := archive.Export(cmd.Context(), a.Workspace, args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(e)
			}
			for _, left := range e.LeftOut {
				a.note("left out %s: %s", left.What, left.Why)
			}
			if e.Redacted > 0 {
				a.note("took out %s of %s", plain.Count(e.Redacted, "secret"), someOf(e.RedactedIn))
			}
			return a.printLine("exported to %s: %s of %s, %s, %s", e.Path, plain.Count(e.Files, "file"), plain.Count(e.Projects, "project"), plain.Count(e.Sessions, "session"), plain.Bytes(e.Bytes))
		},
	}
}

// mostNamed bounds the files that are named.
const mostNamed = 10

func someOf(files []string) string {
	more := len(files) - mostNamed
	if more <= 0 {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more (--json has them all)", strings.Join(files[:mostNamed], ", "), more)
}

func importCommand(a *cli) *cobra.Command {
	var moves []string
	var o archive.Options
	var yes bool
	cmd := &cobra.Command{
		Use:   "import DIR|FILE.tar.gz",
		Short: "Take in what 'memcore export' wrote, here or on another machine",
		Long: `Show what an export brings, and take it in if you agree; without a terminal only with --yes. What is
here already stays: a file that differs is a conflict and is named. Lists, such as what was
forgotten, are joined. Import again to continue or to bring more.

Paths in the other machine's home are looked for in yours; --map says where else a folder is. Clone
your repositories first: import makes the folders that are not there. An export can hold what
instructs your agents, and settings: import only your own.`,
		Args: arguments(cobra.ExactArgs(1), "a folder or a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, text := range moves {
				move, err := archive.ParseMove(text)
				if err != nil {
					return err
				}
				o.Moves = append(o.Moves, move)
			}
			p, err := archive.Import(cmd.Context(), a.Workspace, args[0], o, func(p archive.Plan) bool {
				if !a.json {
					printPlan(a, p)
				}
				if yes || changesOf(p) == 0 || !a.asks() {
					return yes
				}
				return a.agrees(cmd.Context(), "Take this in?", false)
			})
			if err != nil {
				return err
			}
			return printImported(a, p)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&moves, "map", nil, "`OLD=NEW`: a folder there, and the same here; may be repeated")
	f.BoolVar(&o.Overwrite, "overwrite", false, "take the export's of files that differ")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// changesOf counts the steps that change something.
func changesOf(p archive.Plan) int {
	return p.Counts[archive.Add] + p.Counts[archive.Extend] + p.Counts[archive.Merge] + p.Counts[archive.Replace]
}

func printPlan(a *cli, p archive.Plan) {
	for _, s := range p.Steps {
		switch s.Action {
		case archive.Conflict, archive.Replace:
			a.note("%s: %s %s", s.Action, s.Path, s.Why)
		case archive.Refuse:
			a.note("not taken in: %s: %s", s.Name, s.Why)
		case archive.Add:
			if s.IsSettings() {
				a.note("settings: %s", s.Path)
			}
		}
	}
	for _, folder := range p.Missing {
		a.note("folder %s is not here and will be made; clone the repository first if it is one", folder)
	}
	for _, folder := range p.Trusted {
		a.note("trust: %s may instruct your agents", folder)
	}
	for _, left := range p.LeftOut {
		a.note("not in the export: %s: %s", left.What, left.Why)
	}
}

func printImported(a *cli, p archive.Plan) error {
	if a.json {
		return a.printJSON(p)
	}
	var parts []string
	for _, action := range []string{archive.Add, archive.Extend, archive.Merge, archive.Replace, archive.Same, archive.Keep, archive.Conflict, archive.Refuse} {
		if n := p.Counts[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, actionNames[action]))
		}
	}
	text := strings.Join(parts, ", ")
	if !p.Done {
		if changesOf(p) > 0 && !a.asks() {
			a.note("nothing was taken in; --yes takes it in")
		}
		return a.print(fmt.Sprintf("would import into %s: %s\n", plain.Count(len(p.Projects), "project"), text))
	}
	a.note("run 'memcore index' in each project, 'memcore init' for your agents")
	if p.Counts[archive.Refuse] > 0 {
		return kind.Hint(fmt.Errorf("not all was taken in: %s", text), "'memcore import --map OLD=NEW' finds places; run it again")
	}
	return a.print(fmt.Sprintf("imported into %s: %s\n", plain.Count(len(p.Projects), "project"), text))
}

var actionNames = map[string]string{archive.Add: "new", archive.Extend: "extended", archive.Merge: "joined", archive.Replace: "replaced",
	archive.Same: "the same", archive.Keep: "kept as here", archive.Conflict: "in conflict", archive.Refuse: "not taken in"}
