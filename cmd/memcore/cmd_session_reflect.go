package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/text/sanitize"
)

func sessionReflectCommand(a *cli) *cobra.Command {
	var queued, yes, dryRun bool
	cmd := &cobra.Command{
		Use:   "reflect [ID]",
		Short: "Let a chat model write facts and episodes from a session",
		Long: `Let a chat model (memory.reflect.baseURL, memory.reflect.model) read a session (default: the one used
last) and write facts and episodes. It shows the changes and asks on a terminal, then writes all of
them or none. 'memcore save --undo' takes them back.

Without a model, rules find preferences, facts and decisions that you stated, and errors that were
solved: 'memcore memory pending' shows what they found.`,
		Args: arguments(cobra.MaximumNArgs(1), "an id or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			sessions, err := toReflect(a, strings.Join(args, ""), queued)
			if err != nil {
				return err
			}
			for _, current := range sessions {
				if queued {
					a.note("session %s", current.ID)
				}
				said, err := current.Messages(cmd.Context())
				if err != nil {
					return err
				}
				if err := runReflect(cmd.Context(), a, said, yes, dryRun); err != nil {
					return err
				}
				if queued && !dryRun {
					if err := current.Unqueue(); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&queued, "queued", false, "all sessions that hooks have queued (memory.reflect.auto)")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&dryRun, "dry-run", false, "write nothing")
	return cmd
}

// toReflect returns the named session, or the queued ones.
func toReflect(a *cli, id string, queued bool) ([]*session.Session, error) {
	if !queued {
		current, err := a.Sessions().Open(id)
		return []*session.Session{current}, err
	}
	if id != "" {
		return nil, kind.Usagef("--queued names the sessions itself, want no ID")
	}
	all, err := a.Sessions().Queued()
	if err == nil && len(all) == 0 {
		a.note("no session is queued")
	}
	return all, err
}

func runReflect(ctx context.Context, a *cli, said []session.Message, yes, dryRun bool) error {
	report, err := a.Reflect(ctx, said, dryRun, func(ctx context.Context, changes []notes.Written) (bool, error) {
		showChanges(a, changes)
		if !a.asks() || yes {
			return true, nil
		}
		return a.agrees(ctx, "Write this?", true), ctx.Err()
	})
	if errors.Is(err, reflection.ErrNothing) {
		a.note("the session has no messages")
		return nil
	}
	if kind.Of(err) == kind.BadInput {
		return err
	}
	if err != nil {
		return kind.Hint(err, "run it again, or see what rules find: memcore memory pending")
	}
	if a.json {
		return a.printJSON(report)
	}
	if dryRun {
		showChanges(a, report.Changes)
	}
	return printReflection(a, report, dryRun)
}

func showChanges(a *cli, changes []notes.Written) {
	if a.quiet {
		return
	}
	for _, c := range changes {
		fmt.Fprint(a.stderr, c.Diff)
	}
}

func printReflection(a *cli, r reflection.Report, dryRun bool) error {
	var b strings.Builder
	if r.Learned != "" {
		learned, _ := sanitize.Text(r.Learned)
		fmt.Fprintf(&b, "learned: %s\n", plain.OneLine(learned))
	}
	verb := "written"
	switch {
	case dryRun:
		verb = "would be written"
	case !r.Written:
		verb = "not written"
	}
	for _, c := range r.Changes {
		fmt.Fprintln(&b, plain.Line("%s: %s (%s)", verb, c.Path, c.Summary))
	}
	if len(r.Changes) == 0 {
		b.WriteString("nothing to write\n")
	}
	fmt.Fprintf(&b, "%s, %s, %v\n", plain.Count(r.Steps, "step"), plain.Count(r.Tokens, "token"), r.Took.Round(time.Millisecond))
	return a.print(b.String())
}
