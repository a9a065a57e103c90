package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/plain"
	"github.com/memcore/memcore/internal/text/sanitize"
)

// reflectOptions are the flags of reflect.
type reflectOptions struct {
	session, accept              string
	yes, dryRun, propose, queued bool
}

func reflectCommand(a *cli) *cobra.Command {
	var o reflectOptions
	cmd := &cobra.Command{
		Use:   "reflect",
		Short: "Let a chat model write facts and episodes from a session",
		Long: `Let a chat model (memory.reflect.baseURL, memory.reflect.model) read a session and write facts and
episodes. It shows the changes and asks on a terminal, then writes all of them or none. 'memcore
save --undo' takes them back.

--propose asks no model: rules find preferences, facts and decisions that you stated, and errors
that were solved. It asks about each on a terminal; elsewhere --accept names those to write. Hooks
do the same when a session ends; 'memcore memory pending' lists what they
found.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error { return reflectSessions(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.session, "session", "", "`ID` of the session (default: the one used last)")
	f.BoolVar(&o.queued, "queued", false, "all sessions that hooks have queued (memory.reflect.auto)")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.dryRun, "dry-run", false, "write nothing")
	f.BoolVar(&o.propose, "propose", false, "list candidates by rules, without a model")
	f.StringVar(&o.accept, "accept", "", "`IDS` of the candidates to write, such as 3fa92b,0c11de, or all")
	return cmd
}

func reflectSessions(ctx context.Context, a *cli, o reflectOptions) error {
	switch {
	case o.accept != "" && !o.propose && (o.queued || o.session != "" || o.dryRun):
		return kind.Usagef("--accept goes with --propose, or alone: then it is 'memcore memory pending --accept'")
	case o.accept != "" && !o.propose:
		return runPending(ctx, a, o.accept, "")
	case o.propose && o.dryRun && o.accept != "":
		return kind.Usagef("--dry-run writes nothing, --accept does: which one?")
	}
	sessions, err := toReflect(a, o.session, o.queued)
	if err != nil {
		return err
	}
	for _, current := range sessions {
		if o.queued {
			a.note("session %s", current.ID)
		}
		if err := reflectUpon(ctx, a, current, o); err != nil {
			return err
		}
	}
	return nil
}

// reflectUpon reflects upon a session, and then takes it off the queue.
func reflectUpon(ctx context.Context, a *cli, current *session.Session, o reflectOptions) error {
	said, err := current.Messages(ctx)
	if err != nil {
		return err
	}
	if o.propose {
		err = runPropose(ctx, a, said, o.accept)
	} else {
		err = runReflect(ctx, a, said, o.yes, o.dryRun)
	}
	if err != nil || !o.queued || o.dryRun || o.propose && o.accept == "" {
		return err
	}
	return current.Unqueue()
}

// toReflect returns the named session, or the queued ones.
func toReflect(a *cli, id string, queued bool) ([]*session.Session, error) {
	if !queued {
		current, err := a.Sessions().Open(id)
		return []*session.Session{current}, err
	}
	if id != "" {
		return nil, kind.Usagef("--queued goes without --session")
	}
	all, err := a.Sessions().Queued()
	if err == nil && len(all) == 0 {
		a.note("no session is queued")
	}
	return all, err
}

func runReflect(ctx context.Context, a *cli, said []session.Message, yes, dryRun bool) error {
	report, err := a.Reflection().Reflect(ctx, said, dryRun, func(ctx context.Context, changes []notes.Written) (bool, error) {
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
		return kind.Hint(err, "run it again, or see what rules find: memcore reflect --propose")
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

func runPropose(ctx context.Context, a *cli, said []session.Message, accept string) error {
	data, err := a.Notes().Data()
	if err != nil {
		return err
	}
	candidates, err := reflection.Propose(ctx, data, said, time.Now())
	if err != nil {
		return err
	}
	chosen, err := chooseCandidates(ctx, a, candidates, accept)
	if err != nil {
		return err
	}
	written := []notes.Written{}
	if len(chosen) > 0 {
		if written, err = data.Accept(ctx, chosen); err != nil {
			return fmt.Errorf("write proposals: %w", err)
		}
	}
	if a.json {
		return a.printJSON(map[string]any{"candidates": candidates, "written": written})
	}
	for _, w := range written {
		if err := a.printLine("written: %s", w.Path); err != nil {
			return err
		}
	}
	return nil
}

// chooseCandidates shows the candidates and returns the chosen ones.
func chooseCandidates(ctx context.Context, a *cli, all []notes.Proposal, accept string) ([]notes.Proposal, error) {
	wanted, err := namedProposals("--accept", accept, all, "run 'memcore reflect --propose' for those there are")
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		a.note("nothing new was found")
	}
	asks := accept == "" && a.asks()
	var chosen []notes.Proposal
	for _, c := range all {
		if !a.json {
			if err := a.print(proposalText(c)); err != nil {
				return nil, err
			}
		}
		take := slices.Contains(wanted, c.ID)
		if asks {
			take = a.agrees(ctx, "Remember this?", false)
		}
		if take {
			chosen = append(chosen, c)
		}
	}
	if accept == "" && !asks && len(all) > 0 {
		a.note("nothing is written; to accept one: memcore reflect --propose --accept %s", all[0].ID)
	}
	return chosen, ctx.Err()
}
