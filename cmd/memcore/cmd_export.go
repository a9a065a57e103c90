package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/app/archive"
	"github.com/memcore/memcore/internal/text/plain"
)

func exportCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "export FILE.tar.gz",
		Short: "Export all that memcore keeps of you, over all projects",
		Long: `Write what memcore keeps of all projects, and cannot make again, into a new file: curated memory, facts
and episodes, sessions, proposals, what was forgotten, the record of use, settings and cases of eval.
'memcore import' takes it in on another machine.

Secrets are taken out (memory.redact). What is left out is listed.`,
		Args: arguments(cobra.ExactArgs(1), "a file"),
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
			if len(e.Redacted) > 0 {
				a.note("took secrets out of %s", someOf(slices.Compact(e.Redacted)))
			}
			return a.printLine("exported to %s: %s of %s, %s, %s", e.Path, plain.Count(e.Files, "file"), plain.Count(e.Projects, "project"), plain.Count(e.Sessions, "session"), plain.Bytes(e.Bytes))
		},
	}
}

// maxNamed bounds the files that are named.
const maxNamed = 10

func someOf(files []string) string {
	more := len(files) - maxNamed
	if more <= 0 {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more (--json has them all)", strings.Join(files[:maxNamed], ", "), more)
}

func importCommand(a *cli) *cobra.Command {
	var moves []string
	var o archive.Options
	var yes bool
	cmd := &cobra.Command{
		Use:   "import FILE.tar.gz",
		Short: "Take in what 'memcore export' wrote, here or on another machine",
		Long: `Show what an export brings, and take it in if you agree; without a terminal only with --yes. A file
that is here with other content is a conflict: nothing is written then, and the conflicts are named.
Import again to continue or to bring more.

Paths in the other machine's home are looked for in yours; --map says where else a folder is. Clone
your repositories first: import makes the folders that are not there. What instructs your agents is
named. Files outside of memory's own folders, such as CLAUDE.md, come only with --outside. Settings,
which can name servers, come as ~/.beans/config.imported.yaml, which nothing reads.`,
		Args: arguments(cobra.ExactArgs(1), "a file"),
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
				blocked := !o.Skip && p.Counts[archive.Conflict]+p.Counts[archive.Refuse] > 0
				// Nothing new: it ends an import that was interrupted, or does nothing.
				nothing := p.Counts[archive.Add] == 0 && len(p.Indexes) == 0
				return yes || blocked || nothing || a.asks() && a.agrees(cmd.Context(), "Take this in?", false)
			})
			if err != nil {
				return err
			}
			if err := printImported(a, p); err != nil || p.Done || a.asks() {
				return err
			}
			return unasked("import")
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&moves, "map", nil, "`OLD=NEW`: a folder there, and the same here; may be repeated")
	f.BoolVar(&o.Outside, "outside", false, "also files outside of memory's own folders, such as CLAUDE.md")
	f.BoolVar(&o.Skip, "skip", false, "leave out files in conflict, and those without a place here")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

func printPlan(a *cli, p archive.Plan) {
	added := map[string]int{}
	for _, s := range p.Steps {
		switch {
		case s.Action == archive.Conflict:
			a.note("conflict: %s: %s", s.Path, s.Why)
		case s.Action == archive.Leave:
			a.note("left out: %s: %s", s.Path, s.Why)
		case s.Action == archive.Refuse:
			a.note("cannot take in %s: %s", s.Name, s.Why)
		case s.Action == archive.Add && s.Effect != "":
			a.note("new: %s %s", s.Path, s.Effect)
		case s.Action == archive.Add:
			added[s.Folder]++
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(added)) {
		a.note("new: %s in %s", plain.Count(added[folder], "file"), folder)
	}
	for _, more := range p.Indexes {
		what := slices.Clone(more.Paths)
		if more.Conversations {
			what = append(what, "agents' conversations")
		}
		if len(what) > 0 {
			a.note("also indexes: %s, for %s", strings.Join(what, ", "), more.Project)
		}
		if len(more.Folders) > 0 {
			a.note("what agents did in %s counts as done in %s", strings.Join(more.Folders, ", "), more.Project)
		}
	}
}

func printImported(a *cli, p archive.Plan) error {
	if a.json {
		return a.printJSON(p)
	}
	var parts []string
	for _, action := range []string{archive.Add, archive.Same, archive.Leave, archive.Conflict, archive.Refuse} {
		if n := p.Counts[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, actionNames[action]))
		}
	}
	text := strings.Join(parts, ", ")
	if !p.Done {
		return a.printLine("would import: %s", text)
	}
	for _, file := range p.Ignores {
		a.note("%s now ignores private files beside it", file)
	}
	a.note("run 'memcore index' in each project, 'memcore init' for your agents, 'memcore trust add' where memory may instruct them")
	return a.printLine("imported: %s", text)
}

var actionNames = map[string]string{archive.Add: "new", archive.Same: "the same", archive.Leave: "left out", archive.Conflict: "in conflict", archive.Refuse: "not taken in"}
