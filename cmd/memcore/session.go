package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/embed"
)

// sessions is the folder of the sessions that ran in the workspace.
func (a *app) sessions() string { return notes.SessionsOf(a.expand(a.settings.SessionsDir), a.project) }

// session opens a session of the workspace; "" is the one that was used last.
func (a *app) session(id string) (*notes.Session, error) { return notes.OpenSession(a.sessions(), id) }

// openSession is session with a hint for a person.
func (a *app) openSession(id string) (*notes.Session, error) {
	s, err := a.session(id)
	if errors.Is(err, notes.ErrNoSession) {
		return nil, &hintError{err, "run 'memcore session new' to make one, 'memcore session list' for those there are"}
	}
	return s, err
}

func sessionCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Make and show the working memory of sessions",
		Long: `The working memory of a session is a folder: working-memory/overview.md goes into every request, notes in working-memory/detail/ and the raw
messages.jsonl are searched by recall. Sessions are in ~/.ai/sessions, by the folder they ran in (memory.sessionsDir).`,
		RunE: helpOrUnknown,
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "new [ID]",
		Short: "Make a session and print its folder",
		Args:  arguments(cobra.MaximumNArgs(1), "an id or none"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := notes.NewSession(a.sessions(), strings.Join(args, ""))
			if errors.Is(err, notes.ErrNoSession) {
				return &usageError{err}
			}
			if err != nil {
				return err
			}
			return a.print(s.Dir + "\n")
		},
	}, &cobra.Command{
		Use:   "list",
		Short: "List the sessions of the workspace, the one that was used last first",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(*cobra.Command, []string) error {
			all, err := notes.ListSessions(a.sessions())
			if err != nil {
				return err
			}
			if len(all) == 0 {
				a.note("there are no sessions in %s", a.sessions())
				return nil
			}
			return a.print(strings.Join(all, "\n") + "\n")
		},
	}, sessionOverviewCommand(a))
	return cmd
}

func sessionOverviewCommand(a *app) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:   "overview",
		Short: "Print the overview of a session, which goes into every request",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.openSession(id)
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
	cmd.Flags().StringVar(&id, "session", "", "`ID` of the session (default: the one that was used last)")
	return cmd
}

func logCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "log", Short: "Write the log of a session", RunE: helpOrUnknown, Args: cobra.ArbitraryArgs}
	cmd.AddCommand(logAppendCommand(a))
	return cmd
}

func logAppendCommand(a *app) *cobra.Command {
	var id, role string
	var sync, many bool
	cmd := &cobra.Command{
		Use:   "append TEXT|-",
		Short: "Append a message to the log of a session",
		Long: `Append a message to messages.jsonl of a session, whole, whoever else writes. Secrets are taken out. With --jsonl standard input has
messages as JSON lines: {"role": "user", "content": "…"}.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openSession(id)
			if err != nil {
				return err
			}
			if many {
				if len(args) > 0 {
					return usagef("log append --jsonl takes no text")
				}
				return a.appendLines(cmd, s, sync)
			}
			text, err := a.wholeText(args)
			if err != nil {
				return err
			}
			if strings.TrimSpace(text) == "" {
				return usagef("log append: the text is empty")
			}
			return a.appendMessage(cmd, s, notes.Message{Role: role, Content: text}, sync)
		},
	}
	f := cmd.Flags()
	f.StringVar(&id, "session", "", "`ID` of the session (default: the one that was used last)")
	f.StringVar(&role, "role", "user", "`ROLE` of who says it: user, assistant, system or tool")
	f.BoolVar(&sync, "sync", false, "return when it is on the disk")
	f.BoolVar(&many, "jsonl", false, "read messages as JSON lines from standard input")
	return cmd
}

func (a *app) appendMessage(cmd *cobra.Command, s *notes.Session, m notes.Message, sync bool) error {
	redacted, err := s.Append(cmd.Context(), m, notes.AppendOptions{Sync: sync})
	if errors.Is(err, notes.ErrRole) {
		return &usageError{err}
	}
	if err == nil && len(redacted) > 0 {
		a.note("took out %s: %s", count(len(redacted), "secret"), redacted[0].Rule)
	}
	return err
}

func (a *app) appendLines(cmd *cobra.Command, s *notes.Session, sync bool) error {
	lines := bufio.NewScanner(a.stdin)
	lines.Buffer(nil, maxRequest)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var m notes.Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return usagef("line %d of standard input is no message: %w; the lines before it are written", n, err)
		}
		if err := a.appendMessage(cmd, s, m, sync); err != nil {
			return fmt.Errorf("line %d of standard input: %w", n, err)
		}
	}
	return lines.Err()
}

func recallCommand(a *app) *cobra.Command {
	var r notes.RecallRequest
	var id string
	var all bool
	cmd := &cobra.Command{
		Use:   "recall QUERY",
		Short: "Search the working memory of a session: its notes and messages",
		Long: `Search notes and messages of a session by words and meaning, as an agent's recall_memory does. Files are read as they are: what was written a
moment ago is found. Vectors of what is new are made in the time that memory.freshness gives, of all the rest by 'memcore index'.`,
		Args: arguments(cobra.MinimumNArgs(1), "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("limit") && r.Limit < 1 {
				return usagef("--limit is %d, want at least 1", r.Limit)
			}
			text, err := a.queryText(args)
			if err != nil {
				return err
			}
			r.Query = strings.TrimSpace(text)
			first, err := a.openSession(id)
			if err != nil {
				return err
			}
			sessions := []*notes.Session{first}
			if all {
				if sessions, err = a.withOthers(first); err != nil {
					return err
				}
			}
			options, err := a.recallOptions()
			if err != nil {
				return err
			}
			options.EmbedFor = a.settings.Freshness
			found, err := notes.Recall(cmd.Context(), sessions, r, options)
			if errors.Is(err, notes.ErrScope) {
				return &usageError{err}
			}
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(found)
			}
			if found.Degraded != "" {
				a.note("degraded: %s", found.Degraded)
			} else if found.Unembedded > 0 {
				a.note("%s found by words only so far; 'memcore index' makes their vectors", count(found.Unembedded, "piece"))
			}
			return a.print(notes.RecallAnswer(r.Query, found))
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Scope, "scope", "all", "`SCOPE` to look in: all, detail or messages")
	f.IntVar(&r.Limit, "limit", 5, "`N` results at most")
	f.StringVar(&id, "session", "", "`ID` of the session (default: the one that was used last)")
	f.BoolVar(&all, "all-sessions", false, "look into all sessions of the workspace")
	return cmd
}

// recallOptions are those that the configuration asks for.
func (a *app) recallOptions() (notes.RecallOptions, error) {
	at, err := a.place()
	if err != nil {
		return notes.RecallOptions{}, err
	}
	embedder, err := a.embedder(at)
	if err != nil {
		return notes.RecallOptions{}, err
	}
	screen, err := a.screen(embedder)
	return notes.RecallOptions{Embedder: embedder, Screen: screen}, err
}

// embedSessions makes the vectors of the workspace's working memory, so that recall finds it by meaning.
func (a *app) embedSessions(ctx context.Context) error {
	ids, err := notes.ListSessions(a.sessions())
	if err != nil || len(ids) == 0 {
		return err
	}
	recall, err := a.recallOptions()
	if err != nil || recall.Embedder == nil {
		return err
	}
	made := 0
	for _, id := range ids {
		s, err := a.session(id)
		if err != nil {
			return err
		}
		n, err := s.Embed(ctx, recall.Embedder)
		made += n
		if errors.Is(err, embed.ErrUnavailable) {
			a.note("working memory is found by words only: %v", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	if made > 0 {
		a.note("%s of working memory embedded", count(made, "piece"))
	}
	return nil
}

// withOthers are a session and all others of the workspace.
func (a *app) withOthers(first *notes.Session) ([]*notes.Session, error) {
	ids, err := notes.ListSessions(a.sessions())
	if err != nil {
		return nil, err
	}
	all := []*notes.Session{first}
	for _, id := range ids {
		if id == first.ID {
			continue
		}
		s, err := a.session(id)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
