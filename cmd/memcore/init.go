package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/sanitize"
	"github.com/memcore/memcore/internal/workspace"
)

// setupFlags say which agents and whose files are meant.
type setupFlags struct {
	agents        []string
	project, user bool
	yes           bool
}

func (s *setupFlags) add(f *pflag.FlagSet) {
	f.StringArrayVar(&s.agents, "agent", nil, "`NAME` of an agent: "+strings.Join(setup.Names(), ", ")+"; may be repeated (default: those that are installed)")
	f.BoolVar(&s.project, "project", false, "the project's files of agents")
	f.BoolVar(&s.user, "user", false, "your own files of agents, which count in every project")
	f.BoolVarP(&s.yes, "yes", "y", false, "do not ask")
}

func initCommand(a *app) *cobra.Command {
	var flags setupFlags
	var noHooks, noMCP, noIndex, trustMCP, dryRun bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set memcore up for this project and the agents on this machine",
		Long: `Look at the project and at the agents that are installed, and propose what gives them memory: hooks and an MCP server in their own
files (--project: in the project's), and .beans/config.yaml if the project has memory files of other names. The changes are shown;
on a terminal you are asked before they are written, elsewhere --yes writes them. All are made or none, 'memcore save --undo' takes them
back, and 'memcore uninstall-hooks' takes memcore out again. Then the project is indexed. What is as it should be is left alone.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.project && flags.user {
				return usagef("--project and --user: only one of them")
			}
			r := initRequest{setupFlags: flags, index: !noIndex, dryRun: dryRun, scope: setup.User,
				want: setup.Want{Hooks: !noHooks, MCP: !noMCP, TrustMCP: trustMCP}}
			if flags.project {
				r.scope = setup.Project
			}
			return a.init(cmd.Context(), r)
		},
	}
	f := cmd.Flags()
	flags.add(f)
	f.BoolVar(&noHooks, "no-hooks", false, "enter no hooks")
	f.BoolVar(&noMCP, "no-mcp", false, "enter no MCP server")
	f.BoolVar(&noIndex, "no-index", false, "do not index")
	f.BoolVar(&trustMCP, "trust-mcp", false, "let Gemini CLI use memcore's tools without asking; without a terminal, it shows the model only tools that are trusted")
	f.BoolVar(&dryRun, "dry-run", false, "show the changes and write nothing")
	return cmd
}

func uninstallCommand(a *app) *cobra.Command {
	var flags setupFlags
	cmd := &cobra.Command{
		Use:   "uninstall-hooks",
		Short: "Take memcore out of the agents' files",
		Long: `Take the hooks and the MCP server that run memcore out of the files of agents, the project's and your own, and leave everything else
in them as it is. The changes are shown; on a terminal you are asked before they are written, elsewhere --yes writes them. The memory
itself, the index and the project's configuration stay.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.uninstall(cmd.Context(), flags)
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

// An initRequest is what init was asked for.
type initRequest struct {
	setupFlags
	scope         setup.Scope
	want          setup.Want
	index, dryRun bool
}

// A setupReport is what init and uninstall-hooks print as JSON.
type setupReport struct {
	Project *setup.Folder `json:"project,omitempty"`
	Agents  []setup.Agent `json:"agents"`
	Changes []setupChange `json:"changes"`
	Notes   []setup.Note  `json:"notes"`
	Written bool          `json:"written"`
	Indexed bool          `json:"indexed"`
}

// A setupChange is a change with its diff.
type setupChange struct {
	setup.Change
	Diff string `json:"diff"`
}

func (a *app) init(ctx context.Context, r initRequest) error {
	a.settle(ctx)
	agents, err := a.agents(r.setupFlags, setup.Agent.Installed)
	if err != nil {
		return err
	}
	at, err := a.place()
	if err != nil {
		return err
	}
	project, err := a.look(ctx, at)
	if err != nil {
		return err
	}
	binary, err := setup.Binary(os.Args[0])
	if err != nil {
		return err
	}
	proposal, err := setup.Propose(agents, r.scope, binary, r.want)
	if err == nil {
		err = proposal.AddConfig(a.setupOptions(), project.MemoryFiles)
	}
	if err != nil {
		return &hintError{fmt.Errorf("init: %w", err), "nothing was written; --agent NAME sets up single agents, --no-hooks and --no-mcp leave out their files"}
	}
	if !a.flags.json {
		if err := a.printSurroundings(project, agents); err != nil {
			return err
		}
	}
	if a.atHome() {
		r.index = false // a home folder is more than anybody's memory
	}
	report := setupReport{Project: &project, Agents: agents}
	if report.Written, err = a.offer(ctx, proposal, "init", r.yes, r.dryRun); err != nil {
		return err
	}
	if r.index && !r.dryRun && (report.Written || len(proposal.Changes) == 0) {
		if err := a.firstIndex(ctx, at); err != nil {
			return err
		}
		report.Indexed = true
	}
	return a.printSetup(report, proposal)
}

func (a *app) uninstall(ctx context.Context, flags setupFlags) error {
	a.settle(ctx)
	agents, err := a.agents(flags, func(setup.Agent) bool { return true })
	if err != nil {
		return err
	}
	binary, err := setup.Binary(os.Args[0])
	if err != nil {
		return err
	}
	var scopes []setup.Scope
	if flags.project || !flags.user {
		scopes = append(scopes, setup.Project)
	}
	if a.home != "" && (flags.user || !flags.project) {
		scopes = append(scopes, setup.User)
	}
	proposal, err := setup.ProposeRemoval(agents, scopes, binary)
	if err != nil {
		return &hintError{fmt.Errorf("uninstall-hooks: %w", err), "nothing was written; --agent NAME takes memcore out of single agents"}
	}
	report := setupReport{Agents: agents}
	if report.Written, err = a.offer(ctx, proposal, "uninstall-hooks", flags.yes, false); err != nil {
		return err
	}
	return a.printSetup(report, proposal)
}

func (a *app) setupOptions() setup.Options {
	o := setup.Options{Home: a.home, Project: a.project, Path: os.Getenv("PATH")}
	if folder := os.Getenv("CODEX_HOME"); folder != "" {
		o.CodexHome = paths.Absolute(folder)
	}
	if folder := os.Getenv("CLAUDE_CONFIG_DIR"); folder != "" {
		o.ClaudeHome = paths.Absolute(folder)
	}
	return o
}

// agents are those that were named, else those that are wanted by default.
func (a *app) agents(flags setupFlags, byDefault func(setup.Agent) bool) ([]setup.Agent, error) {
	for _, name := range flags.agents {
		if !slices.Contains(setup.Names(), name) {
			return nil, usagef("--agent is %q, want one of %s", name, strings.Join(setup.Names(), ", "))
		}
	}
	return slices.DeleteFunc(setup.Find(a.setupOptions()), func(agent setup.Agent) bool {
		if len(flags.agents) > 0 {
			return !slices.Contains(flags.agents, agent.Name)
		}
		return !byDefault(agent)
	}), nil
}

// look looks at the project as indexing would.
func (a *app) look(ctx context.Context, at place) (setup.Folder, error) {
	registered, err := workspace.Load(at.sources)
	if err != nil {
		return setup.Folder{}, err
	}
	registered.Conversations = false
	files := a.projectSources(registered)
	if a.atHome() {
		files = nil
	}
	return setup.Look(ctx, a.project, files, source.Known(a.project, a.home))
}

// atHome tells whether memcore runs in the home folder itself.
func (a *app) atHome() bool { return a.home != "" && sameFile(a.project, a.home) }

func (a *app) printSurroundings(f setup.Folder, agents []setup.Agent) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	git := "no git repository"
	if f.Git {
		git = "git repository"
	}
	fmt.Fprintf(w, "project\t%s (%s)\n", oneLine(f.Path), git)
	fmt.Fprintf(w, "memory files\t%s\n", cmp.Or(strings.Join(f.MemoryFiles, ", "), "none"))
	if a.atHome() {
		fmt.Fprintf(w, "to be indexed\tnothing, since this is your home folder; 'memcore index PATH' names what is to be\n")
	} else {
		fmt.Fprintf(w, "to be indexed\t%s\n", count(f.Markdown, "Markdown file"))
	}
	logs := []string{}
	for _, format := range slices.Sorted(maps.Keys(f.Logs)) {
		logs = append(logs, fmt.Sprintf("%d of %s", f.Logs[format], format))
	}
	if len(logs) > 0 {
		logs = append(logs, "read with 'memcore index --conversations'")
	}
	fmt.Fprintf(w, "conversations\t%s\n", cmp.Or(strings.Join(logs, ", "), "none"))
	for _, agent := range agents {
		fmt.Fprintf(w, "agent\t%s (%s)\n", agent.Title, oneLine(cmp.Or(strings.Join(agent.Found, ", "), "not found on this machine")))
	}
	if len(agents) == 0 {
		fmt.Fprintf(w, "agent\tnone was found; --agent sets one up that is not there yet\n")
	}
	w.Flush()
	return a.print(b.String())
}

// offer shows what is proposed, asks about it if there is somebody to ask, and writes it.
func (a *app) offer(ctx context.Context, p setup.Proposal, label string, yes, dryRun bool) (written bool, err error) {
	if !a.flags.json {
		for _, c := range p.Changes {
			shown, _ := sanitize.Reveal(c.Diff()) // it shows what is in the file, which may be anything
			if err := a.print("\n" + shown); err != nil {
				return false, err
			}
		}
	}
	for _, n := range p.Notes {
		a.note("%s", n.Text)
	}
	switch {
	case len(p.Changes) == 0:
		a.note("%s: nothing to change", label)
		return false, nil
	case dryRun:
		a.note("nothing is written: --dry-run")
		return false, nil
	case yes:
	case a.asks():
		fmt.Fprintf(a.stderr, "Write %s? [y/N] ", count(len(p.Changes), "file"))
		if answer := a.answer(ctx); answer != "y" && answer != "yes" {
			a.note("nothing is written")
			return false, ctx.Err()
		}
	default:
		a.note("nothing is written, since there is nobody to ask: --yes writes it")
		return false, nil
	}
	journal, err := a.journal()
	if err != nil {
		return false, err
	}
	err = setup.Apply(ctx, journal, label, p.Changes)
	if errors.Is(err, notes.ErrChanged) {
		return false, &hintError{fmt.Errorf("%s: %w", label, err), "nothing was written; run it again"}
	}
	if err != nil {
		return false, fmt.Errorf("%s: not written: %w", label, err)
	}
	return true, a.printWritten(p)
}

func (a *app) printWritten(p setup.Proposal) error {
	if a.flags.json {
		return nil
	}
	var b strings.Builder
	for _, c := range p.Changes {
		did := "wrote"
		if c.Removed {
			did = "removed"
		}
		fmt.Fprintf(&b, "%s %s\n", did, oneLine(c.Path))
	}
	return a.print(b.String())
}

// firstIndex indexes with the settings as they are now.
func (a *app) firstIndex(ctx context.Context, at place) error {
	indexing := *a
	if err := indexing.configure(); err != nil {
		return err
	}
	if a.flags.json {
		indexing.stdout = io.Discard // the answer is one object
	}
	if err := indexing.indexAt(ctx, at, false); err != nil {
		return err
	}
	return indexing.embedSessions(ctx)
}

// printSetup prints the answer as JSON, if that is wanted: for a person it was told as it happened.
func (a *app) printSetup(r setupReport, p setup.Proposal) error {
	if !a.flags.json {
		return nil
	}
	r.Notes = append([]setup.Note{}, p.Notes...)
	r.Changes = []setupChange{}
	for _, c := range p.Changes {
		r.Changes = append(r.Changes, setupChange{c, c.Diff()})
	}
	return a.printJSON(r)
}
