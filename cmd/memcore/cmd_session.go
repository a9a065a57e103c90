package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/app/kind"
)

func sessionCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Make, show and delete sessions",
		Long: `A session is a folder. Its working-memory/overview.md is in every request; recall searches the notes
in working-memory/detail/ and messages.jsonl. A hook gives an agent the overview of its session at
the start, after a compaction, and when it changes. 'proxy', 'inject', 'context' and MCP give that
of the session used last that no agent made; the first three have --session.

Sessions are in ~/.ai/sessions, by the folder they ran in (memory.sessionsDir).`,
		RunE: helpOrUnknown,
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "new [ID]",
		Short: "Make a session and print its folder",
		Args:  arguments(cobra.MaximumNArgs(1), "an id or none"),
		RunE: func(_ *cobra.Command, args []string) error {
			a.RememberPath()
			s, err := session.New(a.SessionsDir(), strings.Join(args, ""))
			if errors.Is(err, session.ErrNoSession) {
				return kind.As(kind.BadInput, err)
			}
			if err != nil {
				return err
			}
			return a.printLine("%s", s.Dir)
		},
	}, sessionListCommand(a), sessionShowCommand(a), sessionPruneCommand(a), sessionDeleteCommand(a), sessionOverviewCommand(a))
	return cmd
}

func sessionOverviewCommand(a *cli) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:   "overview",
		Short: "Print the overview of a session, which is in every request",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.Sessions().Open(id)
			if err != nil {
				return err
			}
			text, err := s.Overview(cmd.Context())
			if err == nil && text == "" {
				a.note("nothing is filled in yet: %s", s.OverviewPath())
			}
			return errors.Join(err, a.print(text))
		},
	}
	cmd.Flags().StringVar(&id, "session", "", "`ID` of the session (default: the one used last)")
	return cmd
}
