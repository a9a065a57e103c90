package main

import (
	"context"
	"fmt"
	"os"

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
	binary, err := setup.Binary(os.Args[0])
	if err != nil {
		return err
	}
	var scopes []setup.Scope
	if flags.project || !flags.user {
		scopes = append(scopes, setup.Project)
	}
	if a.Home != "" && (flags.user || !flags.project) {
		scopes = append(scopes, setup.User)
	}
	proposal, err := setup.ProposeRemoval(agents, scopes, binary)
	if err != nil {
		return kind.Hint(fmt.Errorf("uninstall-hooks: %w", err), "nothing was written; --agent NAME takes memcore out of single agents")
	}
	report := setupReport{Agents: agents}
	if report.Written, err = offerChanges(ctx, a, proposal, "uninstall-hooks", flags.yes, false); err != nil {
		return err
	}
	return printSetup(a, report, proposal)
}
