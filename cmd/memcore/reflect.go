package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/internal/sanitize"
)

// Protocols of the chat model that reflects.
const (
	reflectOpenAI = "openai"
	reflectOllama = "ollama"
)

func reflectCommand(a *app) *cobra.Command {
	var id, accept string
	var yes, dryRun, propose, queued bool
	cmd := &cobra.Command{
		Use:   "reflect",
		Short: "Let a chat model write what a session has taught into facts and episodes",
		Long: `Show a chat model (memory.reflect.baseURL and memory.reflect.model) the messages of a session, the facts and the index of episodes, and let it write
facts and episodes with the memory tools. The changes are shown, on a terminal you are asked, and they are written as one, which
'memcore save --undo' takes back, or not at all. --dry-run only shows them.

--propose asks no model: it lists, by rules, preferences, facts and decisions that you have stated in the session, and errors that were
solved. On a terminal you are asked for each; elsewhere --accept says which ones to write.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case accept != "" && !propose:
				return usagef("--accept goes with --propose")
			case propose && dryRun && accept != "":
				return usagef("--dry-run writes nothing, --accept does: which one?")
			}
			sessions, err := a.toReflect(id, queued)
			if err != nil {
				return err
			}
			data, err := a.data()
			if err != nil {
				return err
			}
			for _, session := range sessions {
				said, err := session.Said(cmd.Context())
				if err != nil {
					return err
				}
				if queued {
					a.note("session %s", session.ID)
				}
				if propose {
					err = a.propose(cmd.Context(), data, said, accept)
				} else {
					err = a.reflect(cmd.Context(), data, said, yes, dryRun)
				}
				if err == nil && queued && !dryRun && (!propose || accept != "") {
					err = session.Unqueue()
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&id, "session", "", "`ID` of the session (default: the one that was used last)")
	f.BoolVar(&queued, "queued", false, "all sessions that hooks have queued (memory.reflect.auto)")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&dryRun, "dry-run", false, "write nothing")
	f.BoolVar(&propose, "propose", false, "list candidates by rules, without a model")
	f.StringVar(&accept, "accept", "", "`IDS` of the candidates to write, such as 3fa92b,0c11de, or all")
	return cmd
}

// toReflect are the sessions that are reflected upon: the one that is named, or those that are queued.
func (a *app) toReflect(id string, queued bool) ([]*notes.Session, error) {
	if !queued {
		session, err := a.openSession(id)
		return []*notes.Session{session}, err
	}
	if id != "" {
		return nil, usagef("--queued goes without --session")
	}
	ids, err := notes.ListSessions(a.sessions())
	if err != nil {
		return nil, err
	}
	var all []*notes.Session
	for _, id := range ids {
		if session, err := a.session(id); err == nil && session.Queued() {
			all = append(all, session)
		}
	}
	if len(all) == 0 {
		a.note("no session is queued")
	}
	return all, nil
}

// chatModel is the one that is configured for reflection.
func (a *app) chatModel() (reflection.Model, error) {
	s := a.settings.Reflect
	o := reflection.ServerOptions{BaseURL: s.BaseURL, Model: s.Model}
	if s.By == reflectOllama && o.BaseURL == "" {
		o.BaseURL = a.settings.Ollama.Host
	}
	if o.BaseURL == "" || o.Model == "" {
		return nil, &hintError{usagef("no chat model is configured: memory.reflect.baseURL and memory.reflect.model"), "'memcore reflect --propose' needs none"}
	}
	if s.APIKeyEnv != "" {
		if o.Key = os.Getenv(s.APIKeyEnv); o.Key == "" {
			return nil, usagef("memory.reflect.apiKeyEnv is %s, which is not set", s.APIKeyEnv)
		}
	}
	if s.By == reflectOllama {
		return reflection.NewOllama(o)
	}
	return reflection.NewOpenAI(o)
}

func (a *app) reflect(ctx context.Context, data *notes.Data, said []notes.Said, yes, dryRun bool) error {
	model, err := a.chatModel()
	if err != nil {
		return err
	}
	s := a.settings.Reflect
	report, err := reflection.Reflect(ctx, model, data, said, reflection.Options{MaxSteps: s.MaxSteps, MaxTokens: s.MaxTokens, Timeout: s.Timeout, DryRun: dryRun,
		Confirm: func(ctx context.Context, changes []notes.Written) (bool, error) {
			a.showChanges(changes)
			if !a.asks() || yes {
				return true, nil
			}
			fmt.Fprintf(a.stderr, "Write this? [Y/n] ")
			answer := a.answer(ctx)
			return answer == "" || answer == "y" || answer == "yes", ctx.Err()
		}})
	if errors.Is(err, reflection.ErrNothing) {
		a.note("the session has no messages")
		return nil
	}
	if err != nil {
		return &hintError{err, "run it again, or see what rules find: memcore reflect --propose"}
	}
	if a.flags.json {
		return a.printJSON(report)
	}
	if dryRun {
		a.showChanges(report.Changes)
	}
	return a.printReflection(report, dryRun)
}

func (a *app) showChanges(changes []notes.Written) {
	if a.flags.quiet {
		return
	}
	for _, c := range changes {
		shown, _ := sanitize.Reveal(c.Diff)
		fmt.Fprint(a.stderr, shown)
	}
}

func (a *app) printReflection(r reflection.Report, dryRun bool) error {
	var b strings.Builder
	if r.Learned != "" {
		learned, _ := sanitize.Text(r.Learned)
		fmt.Fprintf(&b, "learned: %s\n", oneLine(learned))
	}
	verb := "written"
	switch {
	case dryRun:
		verb = "would be written"
	case !r.Written:
		verb = "not written"
	}
	for _, c := range r.Changes {
		fmt.Fprintf(&b, "%s: %s (%s)\n", verb, c.Path, c.Summary)
	}
	if len(r.Changes) == 0 {
		b.WriteString("nothing to write\n")
	}
	fmt.Fprintf(&b, "%s, %s, %v\n", count(r.Steps, "step"), count(r.Tokens, "token"), r.Took.Round(time.Millisecond))
	return a.print(b.String())
}

func (a *app) propose(ctx context.Context, data *notes.Data, said []notes.Said, accept string) error {
	candidates, err := reflection.Propose(ctx, data, said, time.Now())
	if err != nil {
		return err
	}
	chosen, err := a.choose(ctx, candidates, accept)
	if err != nil {
		return err
	}
	written := []notes.Written{}
	if len(chosen) > 0 {
		if written, err = reflection.Accept(ctx, data, chosen); err != nil {
			return fmt.Errorf("write proposals: %w", err)
		}
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"candidates": candidates, "written": written})
	}
	for _, w := range written {
		if err := a.print("written: " + w.Path + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// choose shows the candidates and returns those that a person takes.
func (a *app) choose(ctx context.Context, all []reflection.Candidate, accept string) ([]reflection.Candidate, error) {
	wanted, err := accepted(accept, all)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		a.note("nothing was found that memory does not say already")
	}
	asks := accept == "" && a.asks()
	var chosen []reflection.Candidate
	for _, c := range all {
		if !a.flags.json {
			text, _ := sanitize.Reveal(c.Text) // a model wrote it
			if err := a.print(fmt.Sprintf("%s  %s, %s\n        %s\n", c.ID, c.Kind, oneLine(c.Source), strings.ReplaceAll(text, "\n", "\n        "))); err != nil {
				return nil, err
			}
		}
		take := slices.Contains(wanted, c.ID)
		if asks {
			fmt.Fprint(a.stderr, "Remember this? [y/N] ")
			answer := a.answer(ctx)
			take = answer == "y" || answer == "yes"
		}
		if take {
			chosen = append(chosen, c)
		}
	}
	if accept == "" && !asks && len(all) > 0 {
		a.note("nothing is written; name those to be: memcore reflect --propose --accept %s", all[0].ID)
	}
	return chosen, ctx.Err()
}

// accepted reads a list of IDs, or "all".
func accepted(list string, all []reflection.Candidate) ([]string, error) {
	var ids []string
	for _, c := range all {
		ids = append(ids, c.ID)
	}
	if list == "all" {
		return ids, nil
	}
	wanted := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for _, id := range wanted {
		if !slices.Contains(ids, id) {
			return nil, &hintError{usagef("--accept has %q, which is no candidate now", id), "run 'memcore reflect --propose' for those there are"}
		}
	}
	return wanted, nil
}
