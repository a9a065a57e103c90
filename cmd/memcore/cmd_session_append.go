package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/kind"
)

func sessionAppendCommand(a *cli) *cobra.Command {
	var id, role string
	var many bool
	cmd := &cobra.Command{
		Use:   "append TEXT|-",
		Short: "Append a message to a session",
		Long: `Append a message to messages.jsonl of a session, and return once it is on disk. memcore takes out
secrets, and other processes may write at the same time. --jsonl reads messages from standard input,
one JSON object a line: {"role": "user", "content": "…"}.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.Sessions().Open(id)
			if err != nil {
				return err
			}
			if many {
				if len(args) > 0 {
					return kind.Usagef("session append: --jsonl takes no text")
				}
				return errors.Join(appendLines(a, cmd, s), s.Sync())
			}
			text, err := a.wholeText(args)
			if err != nil {
				return err
			}
			if strings.TrimSpace(text) == "" {
				return kind.Usagef("session append: the text is empty")
			}
			return appendMessage(a, cmd, s, session.Message{Role: role, Content: text}, "the text", session.AppendOptions{Sync: true})
		},
	}
	f := cmd.Flags()
	f.StringVar(&id, "session", "", "`ID` of the session (default: the one used last)")
	f.StringVar(&role, "role", "user", "`ROLE` of the message: user, assistant, system or tool")
	f.BoolVar(&many, "jsonl", false, "read messages as JSON lines from standard input")
	return cmd
}

// appendMessage appends a message; from says for a person where it is.
func appendMessage(a *cli, cmd *cobra.Command, s *session.Session, m session.Message, from string, o session.AppendOptions) error {
	redacted, err := s.Append(cmd.Context(), m, o)
	if err == nil {
		noteSecrets(a, from, redacted)
	}
	return err
}

func appendLines(a *cli, cmd *cobra.Command, s *session.Session) error {
	lines := bufio.NewScanner(a.stdin)
	lines.Buffer(nil, maxRequest)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var m session.Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return kind.Usagef("line %d of standard input is no message: %w; the lines before it are written", n, err)
		}
		from := fmt.Sprintf("line %d of standard input", n)
		if err := appendMessage(a, cmd, s, m, "the message in "+from, session.AppendOptions{}); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	return lines.Err()
}
