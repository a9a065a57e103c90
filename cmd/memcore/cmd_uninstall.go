package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app/kind"
)

func uninstallCommand(a *cli) *cobra.Command {
	var flags setupFlags
	cmd := &cobra.Command{
		Use:   "uninstall-hooks",
		Short: "Remove memcore from the agents' files",
		Long: `Remove memcore's hooks and MCP server from the files of agents, the project's and your own, and
change nothing else in them. memcore shows the changes and asks on a terminal; elsewhere --yes
writes them. The memory, the index and the project's configuration stay.`,
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
	if err != nil {
		return kind.Hint(fmt.Errorf("uninstall-hooks: %w", err), "nothing was written; --agent NAME takes memcore out of single agents")
	}
	report := setupReport{Agents: agents}
	if report.Written, err = offerChanges(ctx, a, proposal, "uninstall-hooks", flags.yes, false); err != nil {
		return err
	}
	if err := printSetup(a, report, proposal); err != nil || !report.Written {
		return err
	}
	noteWhatStays(a)
	return nil
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

// noteWhatStays says what uninstalling leaves, and how to remove it.
func noteWhatStays(a *cli) {
	var settings []string
	for _, key := range []string{"hook.index", "hook.log"} {
		if strings.HasSuffix(a.Origin[key], " in "+a.UserFile()) {
			settings = append(settings, "memory."+key)
		}
	}
	if len(settings) > 0 {
		a.note("settings stay in %s: %s; delete them there", a.UserFile(), strings.Join(settings, ", "))
	}
	if at, err := a.Folders(); err == nil {
		a.note("sessions stay in %s, indexes in %s and state in %s: delete the folders to remove them", a.Settings.SessionsDir, at.Root, at.State)
	}
}
