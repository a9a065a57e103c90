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
	"github.com/memcore/memcore/core/when"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/plain"
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", sanitize.Line(k.ID), k.Used.Local().Format("2006-01-02 15:04"), plain.Count(k.Messages, "message"), plain.Bytes(k.Bytes))
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
		Short: "Show a session and its messages (default: the one used last)",
		Args:  arguments(cobra.MaximumNArgs(1), "an id or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.Sessions().Open(strings.Join(args, ""))
			if err != nil {
				return err
			}
			info, err := a.Sessions().Describe(s)
			if err != nil {
				return err
			}
			said, err := s.Messages(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				shown := shownSession{KeptSession: info, Said: []shownMessage{}}
				for _, m := range said {
					shown.Said = append(shown.Said, shownMessage{m.Role, m.Content, m.Time, m.Citation})
				}
				return a.printJSON(shown)
			}
			return printSession(a, info, said)
		},
	}
}

// A shownSession is the JSON of session show.
type shownSession struct {
	app.KeptSession
	Said []shownMessage `json:"said"`
}

type shownMessage struct {
	Role     string    `json:"role"`
	Content  string    `json:"content"`
	Time     time.Time `json:"time,omitzero"`
	Citation string    `json:"citation"`
}

func printSession(a *cli, k app.KeptSession, said []session.Message) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, plain.Line(format, args...)) }
	row("session", "%s", k.ID)
	row("folder", "%s", k.Dir)
	if k.Agent != "" {
		row("agent", "%s", k.Agent)
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
	for _, m := range said {
		fmt.Fprintf(a.stdout, "\n%s\n%s\n", plain.Line("%s (%s):", m.Role, m.Citation), strings.TrimSpace(m.Content))
	}
	return nil
}

func sessionDeleteCommand(a *cli) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete ID…",
		Short: "Delete sessions",
		Long:  "Delete sessions of the workspace for good. " + whatStays,
		Args:  arguments(cobra.MinimumNArgs(1), "the ids of sessions"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var gone []app.KeptSession
			for _, id := range args {
				s, err := a.Sessions().Open(id)
				if err != nil {
					return err
				}
				info, err := a.Sessions().Describe(s)
				if err != nil {
					return err
				}
				gone = append(gone, info)
			}
			if !yes && !a.asks() {
				return kind.Hint(kind.Usagef("session delete: there is no terminal to ask on"), "add --yes")
			}
			return removeSessions(cmd.Context(), a, gone, 0, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

const whatStays = `What memory gave in these
sessions is forgotten too, and logs that agents keep of them are hidden from search; 'memcore forget
--remember' shows a log again. What was learned from a session stays: facts, episodes and proposals.`

func sessionPruneCommand(a *cli) *cobra.Command {
	var older string
	var keepUsed, all, yes bool
	cmd := &cobra.Command{
		Use:   "prune --older AGE",
		Short: "Delete sessions that were not used for long",
		Long: `List the sessions of the workspace that were not used for AGE, such as 90d or 1y, and delete them if
you agree. Without a terminal, nothing is deleted unless you add --yes. ` + whatStays + `

The setting sessions.keep does the same for all projects whenever 'index' or the daemon runs.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			since, ok := when.Ago(older, time.Now())
			if !ok {
				return kind.Usagef("session prune: --older is %q, want an age such as 36h, 90d, 6mo or 1y", older)
			}
			old, used, err := a.Sessions().Old(cmd.Context(), since, keepUsed, all)
			if err != nil {
				return err
			}
			return removeSessions(cmd.Context(), a, old, used, yes)
		},
	}
	f := cmd.Flags()
	f.StringVar(&older, "older", "", "`AGE` since the last use, such as 90d")
	f.BoolVar(&keepUsed, "keep-used", false, "keep sessions of which a turn has got something since")
	f.BoolVar(&all, "all", false, "of all projects")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// A pruned is the JSON of session prune and session delete.
type pruned struct {
	Sessions []app.KeptSession `json:"sessions"`
	Bytes    int64             `json:"bytes"`
	KeptUsed int               `json:"keptUsed"`
	Deleted  bool              `json:"deleted"` // false: only what would be
}

// removeSessions shows what goes, asks on a terminal, and deletes it.
func removeSessions(ctx context.Context, a *cli, gone []app.KeptSession, used int, yes bool) error {
	p := pruned{Sessions: append([]app.KeptSession{}, gone...), KeptUsed: used}
	for _, k := range gone {
		p.Bytes += k.Bytes
	}
	if !a.json && len(gone) > 0 {
		if err := printSessions(a, gone, true); err != nil {
			return err
		}
	}
	if used > 0 {
		a.note("%s kept, since a turn got something of them", plain.Count(used, "session"))
	}
	what := fmt.Sprintf("%s, %s", plain.Count(len(gone), "session"), plain.Bytes(p.Bytes))
	switch {
	case len(gone) == 0:
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
	}
	if a.json {
		return a.printJSON(p)
	}
	if p.Deleted {
		return a.printLine("deleted: %s", what)
	}
	return nil
}
