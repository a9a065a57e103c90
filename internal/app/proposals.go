package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/forgotten"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/reflection"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/secret"
)

const (
	// lookedThrough bytes at a log's end are read.
	lookedThrough = 1 << 20
	// lookedAtOnce bytes later, proposals are kept.
	lookedAtOnce = 64 << 10
	// maxEarlier bounds the earlier sessions to look through.
	maxEarlier = 10
	// earlierShare of a hook's time is for this: a fifth.
	earlierShare = 5
)

// lookThrough proposes what rules find in a session's new messages.
func (n Notes) lookThrough(ctx context.Context, current *session.Session) error {
	data, err := n.Data()
	if err != nil {
		return err
	}
	for before := (session.Position{Line: -1}); ; {
		said, to, err := current.Unreviewed(ctx, lookedThrough, lookedAtOnce)
		if err != nil || to == before {
			return err
		}
		if said, err = n.w.withoutForgotten(said); err != nil {
			return err
		}
		if len(said) > 0 {
			found, err := reflection.Propose(ctx, data, said, time.Now())
			if err != nil {
				return fmt.Errorf("look through session %s: %w", current.ID, err)
			}
			if _, err := n.Proposals().Add(ctx, found...); err != nil {
				return err
			}
		}
		if err := current.MarkReviewed(to); err != nil {
			return err
		}
		before = to
	}
}

// withoutForgotten takes out of messages of a session what is forgotten, since the log of its agent
// still has it.
func (w *Workspace) withoutForgotten(said []session.Message) ([]session.Message, error) {
	at, err := w.Folders()
	if err != nil {
		return nil, err
	}
	list, err := forgotten.Load(at.Forgotten(), at.Name())
	if err != nil {
		return nil, err
	}
	turns := make([]chunker.Turn, len(said))
	for i, m := range said {
		turns[i] = chunker.Turn{Line: i + 1, EndLine: i + 1, Role: m.Role, Text: m.Content}
	}
	list.Turns(turns, func(text string) string { text, _ = secret.Redact(text); return text })
	var left []session.Message
	for i, m := range said {
		if m.Content = turns[i].Text; m.Content != "" {
			left = append(left, m)
		}
	}
	return left, nil
}

// LookThroughEarlier looks through the latest sessions but one: some agents do not report the end
// of a session.
func (n Notes) LookThroughEarlier(ctx context.Context, except string, most int) error {
	ids, err := session.List(n.w.SessionsDir())
	if err != nil {
		return err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == except })
	for _, id := range ids[:min(len(ids), most)] {
		current, err := n.w.Sessions().Open(id)
		if errors.Is(err, session.ErrNoSession) {
			continue // it was removed meanwhile
		}
		if err == nil {
			err = n.lookThrough(ctx, current)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// NamedProposals reads a list of IDs, or "all".
func NamedProposals(list string, all []notes.Proposal) (ids []string, err error) {
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	if list == "all" {
		return ids, nil
	}
	wanted := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for _, id := range wanted {
		if !slices.Contains(ids, id) {
			return nil, kind.Hint(fmt.Errorf("has %.40q: %w", id, notes.ErrNoProposal), "run 'memcore memory pending' for those there are")
		}
	}
	return wanted, nil
}

// Accept writes proposals and returns the files.
func (n Notes) Accept(ctx context.Context, all []notes.Proposal, ids []string) (written []string, err error) {
	var byRules []notes.Proposal
	var found []string
	for _, p := range all {
		if !slices.Contains(ids, p.ID) {
			continue
		}
		if !p.Asked() {
			byRules, found = append(byRules, p), append(found, p.ID)
			continue
		}
		saved, err := n.acceptAsked(ctx, p, nil)
		if err == nil {
			err = n.Proposals().Decide(ctx, p.ID)
		}
		if err != nil {
			return written, fmt.Errorf("proposal %s: %w", p.ID, err)
		}
		if saved.Written {
			written = append(written, saved.Path)
		} else {
			n.w.Note("%s: %s", saved.Path, saved.Reason)
		}
	}
	if len(byRules) == 0 {
		return written, nil
	}
	data, err := n.Data()
	if err != nil {
		return written, err
	}
	changes, err := data.Accept(ctx, "accepted proposals", byRules)
	if err != nil {
		return written, fmt.Errorf("write proposals: %w", err)
	}
	for _, w := range changes {
		written = append(written, w.Path)
	}
	return written, n.Proposals().Decide(ctx, found...)
}

// toForget returns the lines that a model asked to delete, by a citation if their text is secret.
func (n Notes) toForget(ctx context.Context, p notes.Proposal) (notes.Statement, error) {
	if _, isCitation, _ := n.cited(p.Text); isCitation || p.First == 0 {
		return n.Find(ctx, p.Text)
	}
	place, ok, err := n.cited(paths.Citation(p.Path, p.First, p.Last))
	if err != nil || !ok {
		return n.Find(ctx, p.Text)
	}
	place.Text = p.Text
	return place, nil
}

// acceptAsked writes what a model asked for, if confirm agrees; nil is yes.
func (n Notes) acceptAsked(ctx context.Context, p notes.Proposal, confirm func(context.Context, notes.Change) (bool, error)) (saved notes.Saved, err error) {
	journal, err := n.Journal()
	if err != nil {
		return saved, err
	}
	if p.Kind == notes.ProposedForget {
		place, err := n.toForget(ctx, p)
		if err != nil {
			return saved, err
		}
		saved.Change, saved.Written, err = journal.Forget(ctx, place, confirm)
		if err == nil && saved.Written {
			err = n.w.Use().ForgetStatement(ctx, place, saved.Change)
		}
		return saved, err
	}
	if p.Save == nil {
		return saved, fmt.Errorf("%w: it does not say what to save", notes.ErrNoProposal)
	}
	saved, err = notes.NewSaver(n.w.Curated().Layer(), journal, notes.SaveOptions{Find: n.Find, Confirm: confirm}).Save(ctx, *p.Save)
	if err == nil && saved.Ignored != "" {
		n.w.Note("%s now ignores %s", saved.Ignored, saved.Path)
	}
	return saved, err
}
