package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/kind"
)

func sessionCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Show, write and delete sessions: what was said, and the overview of the work",
		Long: `A session is a folder. Its working-memory/overview.md is in every request; 'search --sessions'
searches the notes in working-memory/detail/ and messages.jsonl. A hook gives an agent the overview
of its session at the start, after a compaction, and when it changes. 'proxy', 'memory show' and MCP
give that of the session used last that no agent made; the first two have --session.

Sessions are in ~/.ai/sessions, by the folder they ran in (memory.sessionsDir).`,
		RunE: helpOrUnknown,
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(sessionListCommand(a), sessionShowCommand(a), sessionNewCommand(a), sessionAppendCommand(a), sessionReflectCommand(a), sessionDeleteCommand(a))
	return cmd
}

func sessionNewCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "new [ID]",
		Short: "Make a session and print its folder",
		Args:  arguments(cobra.MaximumNArgs(1), "an id or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			a.Remember(cmd.Context())
			s, err := session.New(a.SessionsDir(), strings.Join(args, ""))
			if errors.Is(err, session.ErrNoSession) {
				return kind.As(kind.BadInput, err)
			}
			if err != nil {
				return err
			}
			return a.printLine("%s", s.Dir)
		},
	}
}
