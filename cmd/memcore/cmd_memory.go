package main

import (
	"github.com/spf13/cobra"
)

func memoryCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Show and edit what instructs agents, and decide about proposals",
		RunE:  helpOrUnknown,
		Args:  cobra.ArbitraryArgs,
	}
	cmd.AddCommand(memoryShowCommand(a), memoryListCommand(a), memoryEditCommand(a), memoryPendingCommand(a))
	return cmd
}
