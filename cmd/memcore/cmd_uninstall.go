package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

func uninstallCommand(a *cli) *cobra.Command {
	var flags setupFlags
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Take back what init wrote",
		Long: `Take memcore's hooks, MCP server and status line out of the files of agents, the project's and your
own, and its settings out of your configuration. Nothing else changes in them: a file that is still
as memcore left it becomes what it was before, byte for byte. memcore lists the changes and asks on
a terminal; elsewhere --yes answers. The daemon ends. The memory and the index stay.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return uninstall(cmd.Context(), a, flags)
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

func uninstall(ctx context.Context, a *cli, flags setupFlags) error {
	a.Notes().Settle(ctx)
	agents, err := chooseAgents(a, flags, func(setup.Agent) bool { return true })
	if err != nil {
		return err
	}
	proposal, err := removalOf(a, agents, flags)
	all := len(flags.agents) == 0 && (flags.user || !flags.project)
	if err == nil && all && a.UserFile() != "" {
		err = proposal.RemoveSettings(a.SetupOptions(), a.UserFile())
	}
	if err != nil {
		return kind.Hint(fmt.Errorf("uninstall: %w", err), "nothing was written; --agent NAME takes memcore out of single agents")
	}
	report := setupReport{Agents: agents}
	if report.Written, err = (offer{proposal: proposal, label: "uninstall", verb: "Change", yes: flags.yes}).make(ctx, a); err != nil {
		return err
	}
	if err := printSetup(a, report, proposal); err != nil || !report.Written {
		return err
	}
	if all {
		endDaemon(ctx, a)
	}
	noteWhatStays(a)
	if a.json {
		return nil
	}
	return a.printLine("memcore is out of %s", plain.Count(len(proposal.Changes), "file"))
}

// removalOf proposes to take memcore out of the files of agents.
func removalOf(a *cli, agents []setup.Agent, flags setupFlags) (setup.Proposal, error) {
	binary, err := setup.Binary(os.Args[0])
	if err != nil {
		return setup.Proposal{}, err
	}
	var scopes []setup.Scope
	if flags.project || !flags.user {
		scopes = append(scopes, setup.Project)
	}
	if a.Home != "" && (flags.user || !flags.project) {
		scopes = append(scopes, setup.User)
	}
	return setup.ProposeRemoval(agents, scopes, binary)
}

// hintOfHooks says what to do if no hook has run.
func hintOfHooks(a *cli) string {
	agents, err := chooseAgents(a, setupFlags{}, func(setup.Agent) bool { return true })
	if err == nil {
		entered, err := removalOf(a, agents, setupFlags{})
		plugin := slices.ContainsFunc(agents, func(agent setup.Agent) bool { return agent.Plugin() != "" })
		if err == nil && (len(entered.Changes) > 0 || plugin) {
			return "the hooks are in place: start an agent here, and ask it something"
		}
	}
	return "'memcore init' puts hooks into the agents' configuration"
}

// endDaemon ends the daemon, which no hook asks any more.
func endDaemon(ctx context.Context, a *cli) {
	switch ran, err := stopDaemon(ctx); {
	case err != nil:
		a.note("warning: the daemon may still run: %v", err)
	case ran:
		a.note("the daemon is stopped")
	}
}

// noteWhatStays says what uninstalling leaves, and how to remove it.
func noteWhatStays(a *cli) {
	if a.Settings.Service.URL != "" {
		a.note("the memory service is still asked: memcore init --server none ends that")
	}
	if at, err := a.Folders(); err == nil {
		a.note("this stays until you delete it: memory in %s, trust in %s, sessions in %s, indexes in %s, state in %s; in projects BEANS.md, .local.md files with their lines in .gitignore, %s and %s",
			a.Names().Of(a.Beans()), a.Names().Of(a.TrustFile()), a.Settings.SessionsDir, a.Names().Of(at.Root), a.Names().Of(at.State), a.Settings.Folder, a.Settings.DataDir)
	}
}
