package main

import (
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/formatter"
)

func contextCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "context",
		Short: "Print the static layer for the system prompt",
		Long: `Print the curated memory files for the system prompt: the user's (~/.beans), then the project's. Names
of the files are the setting memory.fileNames.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withMemory(cmd.Context(), func(m *core.Manager) error {
				text, err := m.ProjectCoreMemory(cmd.Context())
				if cmd.Context().Err() != nil {
					return err
				}
				if err != nil {
					a.note("the static layer is incomplete: %v", err)
				}
				text = formatter.CoreMemory(text)
				if a.flags.json {
					return a.printJSON(map[string]string{"text": text})
				}
				if text != "" {
					text += "\n"
				}
				return a.print(text)
			})
		},
	}
}
