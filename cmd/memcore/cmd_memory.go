package main

import (
	"github.com/spf13/cobra"
)

func memoryCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Show and change curated memory: the files for the system prompt",
		RunE:  helpOrUnknown,
		Args:  cobra.ArbitraryArgs,
	}
	cmd.AddCommand(memoryShowCommand(a), memoryAddCommand(a), memoryRefreshCommand(a), memoryListCommand(a), memoryEditCommand(a),
		memoryStatsCommand(a), memoryStatusCommand(a), memoryPendingCommand(a))
	return cmd
}
