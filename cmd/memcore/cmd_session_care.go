package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source/keptlog"
	"github.com/memcore/memcore/core/when"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/text/sanitize"
)

func sessionListCommand(a *cli) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sessions of the workspace, the one used last first",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(*cobra.Command, []string) error {
			kept, err := a.Sessions().Kept(all)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(sessionList{kept})
			}
			if len(kept) == 0 {
				a.note("there are no sessions in %s", a.SessionsDir())
				return nil
			}
			return printSessions(a, kept, all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "of all projects")
	return cmd
}

// A sessionList is the JSON of session list.
type sessionList struct {
	Sessions []app.KeptSession `json:"sessions"`
}

func printSessions(a *cli, kept []app.KeptSession, ofAll bool) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	project := ""
	for i, k := range kept {
		if ofAll && (i == 0 || k.Project != project) {
			project = k.Project
			fmt.Fprintln(w, plain.Line("%s", projectName(project, k)))
		}
		said := plain.Count(k.Messages, "message")
		if k.Log != "" {
			said = "in the agent's log"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", sanitize.Line(k.ID), k.Used.Local().Format("2006-01-02 15:04"), said, plain.Bytes(k.Bytes))
	}
	return w.Flush()
}

func projectName(path string, k app.KeptSession) string {
	if path == "" {
		return k.Dir[:len(k.Dir)-len(k.ID)-1] + " (of an unknown folder)"
	}
	return path
}

func sessionShowCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "show [ID]",
		Short: "Show a session, its overview and messages (default: the one used last)",
		Args:  arguments(cobra.MaximumNArgs(1), "an id or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.Sessions().Open(strings.Join(args, ""))
			if err != nil {
				return err
			}
			info, err := a.Sessions().Describe(cmd.Context(), s)
			if err != nil {
				return err
			}
			overview, err := s.Overview(cmd.Context())
			if err != nil {
				return err
			}
			said, err := s.Messages(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				shown := shownSession{KeptSession: info, OverviewText: overview, Said: []shownMessage{}}
				for _, m := range said {
					shown.Said = append(shown.Said, shownMessage{m.Role, m.Content, m.Time, m.Citation})
				}
				return a.printJSON(shown)
			}
			return printSession(a, info, overview, said)
		},
	}
}

// A shownSession is the JSON of session show.
type shownSession struct {
	app.KeptSession
	OverviewText string         `json:"overviewText,omitempty"`
	Said         []shownMessage `json:"said"`
}

type shownMessage struct {
	Role     string    `json:"role"`
	Content  string    `json:"content"`
	Time     time.Time `json:"time,omitzero"`
	Citation string    `json:"citation"`
}

func printSession(a *cli, k app.KeptSession, overview string, said []session.Message) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, plain.Line(format, args...)) }
	row("session", "%s", k.ID)
	row("folder", "%s", k.Dir)
	if k.Agent != "" {
		row("agent", "%s", k.Agent)
	}
	if k.Log != "" && keptlog.Gone(k.Log) {
		row("log", "%s, which is deleted: 'memcore search --sessions' finds what it said", k.Log)
	} else if k.Log != "" {
		row("log", "%s", k.Log)
	}
	if !k.Began.IsZero() {
		row("began", "%s", k.Began.Local().Format(time.DateTime))
	}
	row("used", "%s", k.Used.Local().Format(time.DateTime))
	row("messages", "%d, of which the user wrote %d", k.Messages, k.Prompts)
	row("size", "%s", plain.Bytes(k.Bytes))
	if k.Queued {
		row("waits", "for reflection")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if overview != "" {
		fmt.Fprintf(a.stdout, "\noverview, which is in every request:\n%s\n", strings.TrimSpace(overview))
	}
	for _, m := range said {
		fmt.Fprintf(a.stdout, "\n%s\n%s\n", plain.Line("%s (%s):", m.Role, m.Citation), strings.TrimSpace(m.Content))
	}
	return nil
}

// A deletion has the flags of session delete.
type deletion struct {
	older    string
	all, yes bool
}

func sessionDeleteCommand(a *cli) *cobra.Command {
	var d deletion
	cmd := &cobra.Command{
		Use:   "delete --older AGE|ID…",
		Short: "Delete sessions by name, or all that were not used for long",
		Long: `Delete sessions of the workspace for good: those named, or with --older those that were not used for
AGE, such as 90d or 1y. memcore lists them and asks on a terminal; elsewhere it needs --yes. What
memory gave in these sessions is forgotten too, and logs that agents keep of them are hidden from
search; 'memcore forget --remember' shows a log again. --older also forgets what is kept of logs that
agents deleted. What was learned from a session stays: facts, episodes and proposals.

The setting sessions.keep deletes old sessions of all projects whenever 'index' or the daemon runs.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case d.older != "" && len(args) > 0:
				return kind.Usagef("session delete: name sessions or --older, not both")
			case cmd.Flags().Changed("older"):
				return deleteOld(cmd.Context(), a, d)
			case len(args) == 0:
				return kind.Usagef("session delete: name the ids of sessions, or --older AGE")
			case d.all:
				return kind.Usagef("session delete: --all goes with --older")
			}
			return deleteNamed(cmd.Context(), a, args, d.yes)
		},
	}
	f := cmd.Flags()
	f.StringVar(&d.older, "older", "", "delete sessions that were not used for `AGE`, such as 90d")
	f.BoolVar(&d.all, "all", false, "with --older, of all projects")
	f.BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	return cmd
}

func deleteNamed(ctx context.Context, a *cli, ids []string, yes bool) error {
	var gone []app.KeptSession
	for _, id := range ids {
		s, err := a.Sessions().Open(id)
		if err != nil {
			return err
		}
		info, err := a.Sessions().Describe(ctx, s)
		if err != nil {
			return err
		}
		gone = append(gone, info)
	}
	if !yes && !a.asks() {
		return kind.Hint(kind.Usagef("session delete: there is no terminal to ask on"), "add --yes")
	}
	return removeSessions(ctx, a, gone, nil, yes)
}

func deleteOld(ctx context.Context, a *cli, d deletion) error {
	since, ok := when.Ago(d.older, time.Now())
	if !ok {
		return kind.Usagef("session delete: --older is %q, want an age such as 36h, 90d, 6mo or 1y", d.older)
	}
	old, err := a.Sessions().Old(since, d.all)
	if err != nil {
		return err
	}
	logs, err := a.Sessions().OldLogs(ctx, since, d.all)
	if err != nil {
		return err
	}
	return removeSessions(ctx, a, old, logs, d.yes)
}

// A pruned is the JSON of session delete.
type pruned struct {
	Sessions []app.KeptSession `json:"sessions"`
	Logs     []app.OldLog      `json:"logs"` // that agents deleted
	Bytes    int64             `json:"bytes"`
	Deleted  bool              `json:"deleted"` // false: only what would be
}

// removeSessions shows what goes, asks on a terminal, and deletes it.
func removeSessions(ctx context.Context, a *cli, gone []app.KeptSession, logs []app.OldLog, yes bool) error {
	p := pruned{Sessions: append([]app.KeptSession{}, gone...), Logs: append([]app.OldLog{}, logs...)}
	for _, k := range gone {
		p.Bytes += k.Bytes
	}
	for _, log := range logs {
		p.Bytes += log.Bytes
	}
	if !a.json && len(gone) > 0 {
		if err := printSessions(a, gone, true); err != nil {
			return err
		}
	}
	what := removedText(len(gone), len(logs)) + ", " + plain.Bytes(p.Bytes)
	switch {
	case len(gone)+len(logs) == 0:
		a.note("no session is that old")
	case !yes && !a.asks():
		a.note("nothing was deleted; --yes deletes these: %s", what)
	case !yes && !a.agrees(ctx, "Delete these for good ("+what+")?", false):
		a.note("nothing was deleted")
		return ctx.Err()
	default:
		removed, err := a.Sessions().Remove(ctx, gone)
		p.Sessions, p.Deleted = append([]app.KeptSession{}, removed...), true
		if err != nil {
			return errors.Join(err, fmt.Errorf("%d of %s deleted", len(removed), plain.Count(len(gone), "session")))
		}
		if err := a.Sessions().RemoveLogs(ctx, logs); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(p)
	}
	if p.Deleted {
		return a.printLine("deleted: %s", what)
	}
	return nil
}

func removedText(sessions, logs int) string {
	text := plain.Count(sessions, "session")
	if logs > 0 {
		text += " and what is kept of " + plain.Count(logs, "deleted log")
	}
	return text
}
