package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/workspace"
)

func initCommand(a *cli) *cobra.Command {
	var r initRequest
	var noHooks, noMCP, noIndex bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up memcore for this project and the agents on this machine",
		Long: `Give the installed agents memory: hooks, an MCP server and a status line in your own settings of
each agent (--project: in the project's), and index the project.

memcore lists what it would change and asks once; 'd' shows every change. Without a terminal --yes
answers. It writes all files or none. 'memcore uninstall' takes all of it back.

What one usually wants is the default. --conversations=false leaves out what you and your agents
said here before, --keep-prompts=false keeps hooks from recording prompts and answers,
--index-projects=false keeps them from indexing other projects at the first prompt there, and
--status-line=false leaves Claude Code's status line alone. --hidden also indexes Markdown files in
hidden folders. What one of the first three flags turned off stays off until the flag turns it on.

With --server, memory also asks a memory service. Its key comes from MEMCORE_SERVICE_KEY, from the
terminal, or as a line of standard input. It is checked before anything is written.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.project && r.user {
				return kind.Usagef("--project and --user: only one of them")
			}
			r.want.Hooks, r.want.MCP, r.want.Recall, r.index = !noHooks, !noMCP, !noMCP, !noIndex
			r.want.StatusLine = r.want.StatusLine && r.want.Hooks
			r.chosen = cmd.Flags().Changed
			if r.project {
				r.scope = setup.Project
			}
			return runInit(cmd.Context(), a, r)
		},
	}
	f := cmd.Flags()
	r.setupFlags.add(f)
	f.BoolVar(&r.conversations, "conversations", true, "also index agents' sessions, past and later; with --index-projects, other projects' too")
	f.BoolVar(&r.keepPrompts, "keep-prompts", true, "let hooks keep prompts and answers in sessions (memory.hook.log)")
	f.BoolVar(&r.indexProjects, "index-projects", true, "let hooks index other projects in the background at the first prompt there (memory.hook.index)")
	f.BoolVar(&r.hidden, "hidden", false, "also index Markdown files in the project's hidden folders")
	f.BoolVar(&r.want.StatusLine, "status-line", true, "make 'memcore statusline' the status line of Claude Code if it has none")
	f.BoolVar(&r.want.TrustMCP, "trust-mcp", false, "let Gemini CLI use memcore's tools without asking; without a terminal it offers only trusted tools")
	f.BoolVar(&noHooks, "no-hooks", false, "set up no hooks")
	f.BoolVar(&noMCP, "no-mcp", false, "set up no MCP server, and no skill recall, which uses it")
	f.BoolVar(&noIndex, "no-index", false, "do not index")
	f.StringVar(&r.server, "server", "", "also ask the memory service at `URL`; none: no longer")
	f.BoolVar(&r.dryRun, "dry-run", false, "show the changes and write nothing")
	return cmd
}

// An initRequest is what init is asked to do.
type initRequest struct {
	setupFlags
	scope                                             setup.Scope
	want                                              setup.Want
	conversations, keepPrompts, indexProjects, hidden bool
	index, dryRun                                     bool
	server                                            string                 // address of a memory service, or noServer
	chosen                                            func(flag string) bool // reports whether a flag was given
}

// decides reports whether it is decided whether agents' sessions are indexed.
func (r initRequest) decides() bool { return r.index || r.chosen("conversations") }

func runInit(ctx context.Context, a *cli, r initRequest) error {
	a.Notes().Settle(ctx)
	if r.server != "" && !r.dryRun {
		if err := useServer(ctx, a, r.server); err != nil {
			return err
		}
	}
	plan, err := planInit(ctx, a, &r)
	if err != nil {
		return err
	}
	if !a.json {
		if err := a.print(plan.text(a, r)); err != nil {
			return err
		}
	}
	report := setupReport{Project: &plan.project, Agents: plan.agents, Past: plan.past}
	offer := offer{proposal: plan.proposal, label: "init", verb: "Write", yes: r.yes, dryRun: r.dryRun}
	if report.Written, err = offer.make(ctx, a); errors.Is(err, errUnasked) {
		return errors.Join(printSetup(a, report, plan.proposal), err)
	} else if err != nil {
		return err
	}
	done := !r.dryRun && (report.Written || len(plan.proposal.Changes) == 0)
	if done && !a.AtHome() {
		a.Remember(ctx)
	}
	if done && !a.AtHome() {
		if err := plan.register(ctx, a, r); err != nil {
			return err
		}
	}
	if r.index && done {
		if err := firstIndex(ctx, a, plan.at); err != nil {
			return err
		}
		report.Indexed = true
	}
	if err := printSetup(a, report, plan.proposal); err != nil || !done {
		return err
	}
	trusted, err := askForTrust(ctx, a, r)
	if err != nil {
		return err
	}
	return printEnding(a, plan, r, trusted)
}

// askForTrust asks about the folder, unless nobody is to be asked, and reports whether it is
// trusted.
func askForTrust(ctx context.Context, a *cli, r initRequest) (bool, error) {
	if r.yes || a.json {
		m, err := a.Curated().Layer().Load(ctx)
		return m.Trusted, err
	}
	if err := a.Load(); err != nil { // with the names of memory files that init has entered
		return false, err
	}
	_, m, err := loadCurated(ctx, a)
	return m.Trusted, err
}

// An initPlan is what init has found, and what it would do.
type initPlan struct {
	at       config.Folders
	project  setup.Folder
	agents   []setup.Agent
	proposal setup.Proposal
	// past are the past sessions that are not indexed yet, or nil. follows means that sessions are
	// indexed, or are to be.
	past    *app.PastSessions
	follows bool
}

func planInit(ctx context.Context, a *cli, r *initRequest) (plan initPlan, err error) {
	if plan.agents, err = chooseAgents(a, r.setupFlags, setup.Agent.Installed); err != nil {
		return plan, err
	}
	plan.agents = slices.DeleteFunc(plan.agents, func(agent setup.Agent) bool { return agent.Other })
	if plan.at, err = a.Folders(); err != nil {
		return plan, err
	}
	registered, err := workspace.Load(plan.at.Sources())
	if err != nil {
		return plan, err
	}
	if a.AtHome() {
		r.index = false // a home folder holds too much
	}
	files := a.Index().ProjectSources(workspace.Sources{Paths: registered.Paths, WithoutProject: registered.WithoutProject})
	if a.AtHome() {
		files = nil
	}
	if plan.project, err = setup.Look(ctx, a.Project, files, a.Index().Logs(registered)); err != nil {
		return plan, err
	}
	plan.follows = registered.HasConversations()
	if r.index && !plan.follows {
		past, err := a.Index().PastSessions(ctx, registered)
		if err != nil {
			return plan, err
		}
		if past.Sessions > 0 {
			plan.past = &past
		}
	}
	if registered.Conversations != nil && !r.chosen("conversations") {
		r.conversations = *registered.Conversations // as an earlier run was told
	}
	if r.decides() {
		plan.follows = r.conversations
	}
	if plan.proposal, err = propose(a, *r, plan); ctx.Err() != nil {
		return plan, ctx.Err()
	} else if err != nil {
		return plan, kind.Hint(fmt.Errorf("init: %w", err), "nothing was written; --agent NAME sets up single agents, --no-hooks and --no-mcp leave out their files")
	}
	return plan, notePrivate(ctx, a, &plan.proposal)
}

// propose returns the changes of agents' files and of the user's own settings.
func propose(a *cli, r initRequest, plan initPlan) (setup.Proposal, error) {
	binary, err := setup.Binary(os.Args[0])
	if err != nil {
		return setup.Proposal{}, err
	}
	proposal, err := setup.Propose(plan.agents, r.scope, binary, r.want)
	if err != nil {
		return setup.Proposal{}, err
	}
	return proposal, proposal.AddSettings(a.SetupOptions(), a.UserFile(), settingsFor(a, r, plan), true)
}

// settingsFor returns the settings that init enters in the user's own file. Without a flag, what
// the user has set stays. The value of a flag is always entered, also if it is the default or the
// value of an environment variable: those may change later.
func settingsFor(a *cli, r initRequest, plan initPlan) (all []setup.Setting) {
	hooks := r.want.Hooks && len(plan.agents) > 0
	open := func(flag, key string) bool { return r.chosen(flag) || hooks && a.Origin[key] == "" }
	missing := func(key, value, now string) bool { return value != now || !inUserFile(a, key) }
	names := setup.MemoryFiles()
	if a.Origin["fileNames"] == "" && slices.ContainsFunc(plan.project.MemoryFiles, func(name string) bool { return !slices.Contains(a.Settings.FileNames, name) }) {
		all = append(all, setup.Setting{Key: "fileNames", Value: "[" + strings.Join(names, ", ") + "]"})
	}
	if index := indexSetting(r.indexProjects, r.conversations); open("index-projects", hookIndex) && missing(hookIndex, index, a.Settings.Hook.Index) {
		all = append(all, setup.Setting{Key: hookIndex, Value: index})
	}
	if keep := fmt.Sprint(r.keepPrompts); r.chosen("keep-prompts") && missing("hook.log", keep, fmt.Sprint(a.Settings.Hook.Log)) {
		all = append(all, setup.Setting{Key: "hook.log", Value: keep})
	}
	return all
}

const hookIndex = "hook.index"

// inUserFile reports whether the value of a setting comes from the user's own file.
func inUserFile(a *cli, key string) bool {
	return strings.HasSuffix(a.Origin[key], " in "+a.UserFile())
}

// indexesProjects returns the value that hook.index will have. A variable or a flag outranks the
// user's own file, so its value stays.
func indexesProjects(a *cli, r initRequest, plan initPlan) string {
	if a.Origin[hookIndex] == "" || inUserFile(a, hookIndex) {
		for _, s := range settingsFor(a, r, plan) {
			if s.Key == hookIndex {
				return s.Value
			}
		}
	}
	return a.Settings.Hook.Index
}

// indexSetting is the value of hook.index. Other projects get their past sessions if this one does.
func indexSetting(projects, conversations bool) string {
	switch {
	case !projects:
		return config.IndexOff
	case conversations:
		return config.IndexAll
	}
	return config.IndexFiles
}

// notePrivate names private files that git would commit.
func notePrivate(ctx context.Context, a *cli, p *setup.Proposal) error {
	layer := a.Curated().Layer()
	m, err := layer.Load(ctx)
	if err != nil {
		return err
	}
	exposed, err := layer.Exposed(m)
	for _, e := range exposed {
		when := "memcore adds it to .gitignore when it is next read"
		if !e.Trusted {
			when = "once the folder is trusted ('memcore trust add'), memcore adds it to .gitignore"
		}
		p.Notes = append(p.Notes, setup.Note{Text: fmt.Sprintf("git would commit %s, which is private; %s", strings.Join(e.Names, ", "), when)})
	}
	return err
}

// register makes sessions and hidden folders sources of the workspace.
func (plan initPlan) register(ctx context.Context, a *cli, r initRequest) error {
	if r.decides() {
		if err := followConversations(ctx, a, plan.at, plan.follows); err != nil {
			return err
		}
	}
	if !r.hidden || len(plan.project.Hidden) == 0 {
		return nil
	}
	_, err := workspace.Change(ctx, plan.at.Sources(), func(s *workspace.Sources) error {
		s.Workspace = a.Project
		for _, path := range slices.Sorted(maps.Keys(plan.project.Hidden)) {
			if err := s.Add(a.FileNamed(path)); err != nil {
				return err
			}
		}
		return nil
	})
	return err
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
	return indexAt(ctx, indexing, at, false)
}
