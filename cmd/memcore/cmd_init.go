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

	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/plain"
	"github.com/memcore/memcore/internal/workspace"
)

func initCommand(a *cli) *cobra.Command {
	var flags setupFlags
	var choices initChoices
	var noHooks, noMCP, noIndex, trustMCP, statusLine, dryRun bool
	var server string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up memcore for this project and the agents on this machine",
		Long: `Look at the project and the installed agents, and propose the changes that give them memory: hooks
and an MCP server in your own files (--project: the project's), and .beans/config.yaml if the
project's memory files have other names.

memcore shows the changes and asks on a terminal; elsewhere --yes writes them. It writes all or
none, then indexes the project. 'memcore save --undo' takes the changes back; 'memcore
uninstall-hooks' removes memcore later.

On a terminal it also asks what --conversations, --keep-prompts and --index-projects decide; each
takes =false.

With --server, memory also asks a memory service. Its key comes from MEMCORE_SERVICE_KEY, from the
terminal, or as a line of standard input. It is checked before anything is written.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.project && flags.user {
				return kind.Usagef("--project and --user: only one of them")
			}
			r := initRequest{setupFlags: flags, server: server, index: !noIndex, dryRun: dryRun, scope: setup.User,
				want: setup.Want{Hooks: !noHooks, MCP: !noMCP, TrustMCP: trustMCP, StatusLine: statusLine}, choices: choices}
			r.choices.changed = cmd.Flags().Changed
			if flags.project {
				r.scope = setup.Project
			}
			return runInit(cmd.Context(), a, r)
		},
	}
	f := cmd.Flags()
	flags.add(f)
	choices.add(f)
	f.BoolVar(&noHooks, "no-hooks", false, "set up no hooks")
	f.BoolVar(&noMCP, "no-mcp", false, "set up no MCP server")
	f.BoolVar(&noIndex, "no-index", false, "do not index")
	f.BoolVar(&trustMCP, "trust-mcp", false, "let Gemini CLI use memcore's tools without asking; without a terminal it offers only trusted tools")
	f.BoolVar(&statusLine, "status-line", false, "make 'memcore statusline' the status line of Claude Code if it has none")
	f.StringVar(&server, "server", "", "also ask the memory service at `URL`; none: no longer")
	f.BoolVar(&dryRun, "dry-run", false, "show the changes and write nothing")
	return cmd
}

// An initRequest is what init is asked to do.
type initRequest struct {
	setupFlags
	server        string // address of a memory service, or noServer
	scope         setup.Scope
	want          setup.Want
	index, dryRun bool
	choices       initChoices
}

func runInit(ctx context.Context, a *cli, r initRequest) error {
	a.Notes().Settle(ctx)
	if r.server != "" && !r.dryRun {
		if err := useServer(ctx, a, r.server); err != nil {
			return err
		}
	}
	agents, err := chooseAgents(a, r.setupFlags, setup.Agent.Installed)
	if err != nil {
		return err
	}
	at, err := a.Folders()
	if err != nil {
		return err
	}
	project, err := lookAtWorkspace(ctx, a, at)
	if err != nil {
		return err
	}
	if !a.json {
		if err := printSurroundings(a, project, agents); err != nil {
			return err
		}
	}
	if a.AtHome() {
		r.index = false // a home folder holds too much
	}
	proposal, chosen, err := propose(ctx, a, &r, agents, project)
	if err != nil {
		return err
	}
	report := setupReport{Project: &project, Agents: agents, Past: chosen.past}
	if report.Written, err = offerChanges(ctx, a, proposal, "init", r.yes, r.dryRun); errors.Is(err, errUnasked) {
		return errors.Join(printSetup(a, report, proposal), err)
	} else if err != nil {
		return err
	}
	done := !r.dryRun && (report.Written || len(proposal.Changes) == 0)
	if done && !a.AtHome() {
		if err := followConversations(ctx, a, at, chosen.conversations); err != nil {
			return err
		}
	}
	if r.index && done {
		if err := firstIndex(ctx, a, at); err != nil {
			return err
		}
		report.Indexed = true
	}
	if err := printSetup(a, report, proposal); err != nil || !done {
		return err
	}
	return printEnding(a, report, chosen)
}

// propose asks what there is to choose, and returns all changes.
func propose(ctx context.Context, a *cli, r *initRequest, agents []setup.Agent, project setup.Folder) (setup.Proposal, chosen, error) {
	binary, err := setup.Binary(os.Args[0])
	if err != nil {
		return setup.Proposal{}, chosen{}, err
	}
	proposal, err := setup.Propose(agents, r.scope, binary, r.want)
	if err == nil {
		err = proposal.AddConfig(a.SetupOptions(), project.MemoryFiles)
	}
	if err == nil {
		err = proposePrivate(ctx, a, &proposal)
	}
	hooks := r.want.Hooks && len(agents) > 0
	var made chosen
	if err == nil {
		made, err = r.choices.settle(ctx, a, choosing{ask: a.asks() && !r.yes && !r.dryRun, agents: len(agents) > 0, hooks: hooks && len(proposal.Changes) > 0, index: r.index})
	}
	if err == nil && len(made.settings) > 0 {
		err = proposal.AddSettings(a.SetupOptions(), a.UserFile(), made.settings)
	}
	if ctx.Err() != nil {
		return setup.Proposal{}, made, ctx.Err()
	}
	if err != nil {
		return setup.Proposal{}, made, kind.Hint(fmt.Errorf("init: %w", err), "nothing was written; --agent NAME sets up single agents, --no-hooks and --no-mcp leave out their files")
	}
	for _, agent := range agents {
		if !r.want.StatusLine && len(proposal.Changes) > 0 && agent.OffersStatusLine(r.scope) {
			proposal.Notes = append(proposal.Notes, setup.Note{Agent: agent.Name, Text: agent.Title + " has no status line: 'memcore init --status-line' enters one"})
		}
	}
	return proposal, made, nil
}

// lookAtWorkspace looks at the project as indexing would.
func lookAtWorkspace(ctx context.Context, a *cli, at config.Folders) (setup.Folder, error) {
	registered, err := workspace.Load(at.Sources())
	if err != nil {
		return setup.Folder{}, err
	}
	registered.Conversations = false
	files := a.Index().ProjectSources(registered)
	if a.AtHome() {
		files = nil
	}
	return setup.Look(ctx, a.Project, files, a.Index().Logs(registered))
}

func printSurroundings(a *cli, f setup.Folder, agents []setup.Agent) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	git := "no git repository"
	if f.Git {
		git = "git repository"
	}
	fmt.Fprintf(w, "project\t%s (%s)\n", plain.OneLine(f.Path), git)
	fmt.Fprintln(w, plain.Line("memory files\t%s", cmp.Or(strings.Join(f.MemoryFiles, ", "), "none")))
	if a.AtHome() {
		fmt.Fprintf(w, "to be indexed\tnothing, since this is your home folder; 'memcore index PATH' names what is to be\n")
	} else {
		fmt.Fprintf(w, "to be indexed\t%s\n", plain.Count(f.Markdown, "Markdown file"))
	}
	logs := []string{}
	for _, format := range slices.Sorted(maps.Keys(f.Logs)) {
		logs = append(logs, fmt.Sprintf("%d of %s", f.Logs[format], format))
	}
	fmt.Fprintf(w, "conversations\t%s\n", cmp.Or(strings.Join(logs, ", "), "none"))
	for _, agent := range agents {
		fmt.Fprintf(w, "agent\t%s (%s)\n", agent.Title, plain.OneLine(cmp.Or(strings.Join(agent.Found, ", "), "not found on this machine")))
	}
	if len(agents) == 0 {
		fmt.Fprintf(w, "agent\tnone was found; --agent sets one up that is not there yet\n")
	}
	w.Flush()
	return a.print(b.String())
}

// firstIndex indexes with the settings that init wrote.
func firstIndex(ctx context.Context, a *cli, at config.Folders) error {
	settings, workspace, terminal := *a.Config, *a.Workspace, *a.terminal
	if err := settings.Load(); err != nil {
		return err
	}
	workspace.Config = &settings
	if a.json {
		terminal.stdout = newScreen(io.Discard) // the answer is one object
	}
	indexing := &cli{&terminal, &workspace}
	if err := indexAt(ctx, indexing, at, false); err != nil {
		return err
	}
	return indexing.Sessions().Embed(ctx)
}

// proposePrivate proposes that git ignore private files in trusted folders.
func proposePrivate(ctx context.Context, a *cli, p *setup.Proposal) error {
	layer := a.Curated().Layer()
	m, err := layer.Load(ctx)
	if err != nil {
		return err
	}
	exposed, err := layer.Exposed(m)
	if err != nil {
		return err
	}
	for _, e := range exposed {
		if !e.Trusted {
			p.Notes = append(p.Notes, setup.Note{Text: fmt.Sprintf("git would commit %s, which is private; once the folder is trusted ('memcore trust add'), memcore adds it to .gitignore", strings.Join(e.Names, ", "))})
			continue
		}
		if err := p.AddIgnored(a.SetupOptions(), e.Ignore, e.Text); err != nil {
			p.Notes = append(p.Notes, setup.Note{Text: fmt.Sprintf("git would commit %s, which is private: %v", strings.Join(e.Names, ", "), err)})
		}
	}
	return nil
}
