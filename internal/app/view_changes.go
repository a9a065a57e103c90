package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/secret"
)

// followWait bounds a change's wait for the index, which then follows by itself.
const followWait = 2 * time.Second

// Change implements view.Memory.
func (v page) Change(ctx context.Context, r view.ChangeRequest) (c view.Changed, err error) {
	c.Path = r.Path
	r.Seen, r.Base, r.Text = unified(r.Seen), unified(r.Base), unified(r.Text)
	agreed := false
	agree := func(_ context.Context, n notes.Change) (bool, error) {
		c.Path, c.Diff, c.Secrets = n.Path, n.ShownDiff(), secret.Kinds(n.Redacted)
		c.Remark = remarkOn(n, r.How)
		outdated := c.Outdated
		agreed = agrees(r, &c, n.Version())
		c.Outdated = c.Outdated || outdated
		return agreed, nil
	}
	// change makes the change if agree says so, and fills in c.
	var change func(context.Context, view.ChangeRequest, *view.Changed, agreement) error
	switch r.How {
	case view.EditLines, view.StrikeLines, view.ForgetLines:
		change = v.correct
	case view.UndoChange:
		change = v.undo
	case view.Keep, view.Leave:
		change = v.decide
	case view.Hide, view.Unhide:
		change = v.hide
	default:
		return c, kind.Usagef("how is %.20q, want edit, strike, forget, undo, keep, leave, hide or unhide", r.How)
	}
	if err = change(ctx, r, &c, agree); agreed && errors.Is(err, notes.ErrChanged) {
		c.Outdated, r.Version = true, "" // changed just now: show the new state
		err = change(ctx, r, &c, agree)
	}
	if err != nil {
		return c, changeError(err)
	}
	if c.Written {
		ctx, stop := context.WithTimeout(ctx, followWait)
		defer stop()
		_, err := v.s.Manager.Index(ctx, core.IndexOptions{KeepEngine: true})
		c.Indexed = err == nil
	}
	return c, nil
}

// unified returns a text of a form with the line ends of files.
func unified(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// agrees reports whether a person has seen this version of a change.
func agrees(r view.ChangeRequest, c *view.Changed, version string) bool {
	c.Version = version
	c.Outdated = r.Version != "" && r.Version != version
	return r.Version == version
}

// remarkOn warns a person before a change.
func remarkOn(n notes.Change, how string) string {
	switch {
	case n.LosesSecret():
		return "A secret leaves the file, and nothing can bring it back: no copy is kept."
	case how != view.UndoChange && !n.CanBeUndone():
		return "This cannot be undone here: a secret is in the changed lines or between them, and no copy of it is kept."
	}
	return ""
}

// An agreement sees a change and decides whether it is made.
type agreement func(context.Context, notes.Change) (bool, error)

// changeError gives errors of changes their kind.
func changeError(err error) error {
	for of, errs := range map[kind.Kind][]error{
		kind.NotFound: {notes.ErrNoRecord, notes.ErrNoProposal, notes.ErrNoFile, core.ErrNotIndexed, core.ErrNotForgotten},
		kind.Conflict: {notes.ErrNotKept, notes.ErrStruck, notes.ErrLines, notes.ErrChanged},
		kind.BadInput: {notes.ErrText},
	} {
		if slices.ContainsFunc(errs, func(e error) bool { return errors.Is(err, e) }) {
			return kind.As(of, err)
		}
	}
	return err
}

// correct edits, strikes through or forgets lines.
func (v page) correct(ctx context.Context, r view.ChangeRequest, c *view.Changed, agree agreement) error {
	place, err := v.place(r.Path)
	if err != nil {
		return err
	}
	place.First, place.Last = r.First, r.Last
	if _, err := readPlace(place); err != nil {
		return err
	}
	journal, err := v.s.Notes().Journal()
	if err != nil {
		return err
	}
	done, err := journal.Correct(ctx, notes.Correction{How: r.How, Place: place, Seen: r.Seen, Base: r.Base, New: r.Text}, agree)
	c.First, c.Last, c.Seen, c.Base, c.Text, c.Since = done.First, done.Last, done.Seen, done.Base, done.New, done.Since
	c.Written, c.Undo = done.Written, done.Record
	if err != nil {
		return err
	}
	if c.Secrets = secret.Kinds(done.Redacted); done.Written && r.How == view.ForgetLines {
		return v.s.Use().ForgetStatement(ctx, place, done.Change)
	}
	return nil
}

// Limits of systems for a path and one of its elements, in bytes.
const (
	maxPath = 1024
	maxName = 240
)

// place returns a Markdown file that people may change here.
func (v page) place(path string) (notes.Statement, error) {
	long := slices.ContainsFunc(strings.Split(path, "/"), func(name string) bool { return len(name) > maxName })
	if long || len(path) > maxPath || strings.ContainsFunc(path, func(r rune) bool { return r < ' ' }) {
		return notes.Statement{}, kind.As(kind.NotFound, fmt.Errorf("%.40q is no path of a document", path))
	}
	place, ok, err := v.s.Notes().cited(path + "#L1")
	if err == nil && !ok {
		err = kind.As(kind.NotFound, fmt.Errorf("%q is no Markdown file", path))
	}
	return place, err
}

// undo undoes a change of the journal.
func (v page) undo(ctx context.Context, r view.ChangeRequest, c *view.Changed, agree agreement) error {
	journal, err := v.s.Notes().Journal()
	if err != nil {
		return err
	}
	_, c.Written, err = journal.Restore(ctx, r.ID, v.s.Names().Of, agree)
	return err
}

// decide keeps or leaves a proposal.
func (v page) decide(ctx context.Context, r view.ChangeRequest, c *view.Changed, agree agreement) (err error) {
	all, err := v.s.Notes().Proposals().Waiting()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(p notes.Proposal) bool { return p.ID == r.ID })
	if at < 0 {
		return notes.ErrNoProposal
	}
	p := all[at]
	c.Path = p.Path
	c.Text, _ = notes.Clean(p.Text)
	switch {
	case r.How == view.Leave:
		if !agrees(r, c, p.ID) {
			return nil
		}
		err = v.s.Notes().Proposals().Decide(ctx, p.ID)
		c.Written = err == nil
		return err
	case !p.Asked():
		err = v.keepFound(ctx, p, r, c)
	default:
		if text := strings.TrimSpace(r.Text); text != "" && p.Save != nil {
			p.Save.Content, c.Text = text, text
		}
		var saved notes.Saved
		saved, err = v.s.Notes().acceptAsked(ctx, p, agree)
		c.Written, c.Undo = saved.Written, saved.Record
		if c.Secrets = secret.Kinds(saved.Redacted); !saved.Written && c.Version == "" {
			c.Path = saved.Path
			c.Remark, _ = notes.Clean(saved.Reason)
		}
	}
	if err == nil && c.Written {
		err = v.s.Notes().Proposals().Decide(ctx, p.ID)
	}
	return err
}

// keepFound appends what rules found. The version is that of the diff.
func (v page) keepFound(ctx context.Context, p notes.Proposal, r view.ChangeRequest, c *view.Changed) error {
	data, err := v.s.Notes().Data()
	if err != nil {
		return err
	}
	if text := strings.TrimSpace(r.Text); text != "" {
		p.Text, c.Text = text, text
	}
	draft := data.Draft()
	w, err := draft.Append(ctx, p.Path, p.Text, "")
	if err != nil {
		return err
	}
	c.Path, c.Secrets = v.s.Names().Of(filepath.Join(v.s.DataDir(), filepath.FromSlash(w.Path))), secret.Kinds(w.Redacted)
	for _, change := range draft.Changes() {
		c.Diff, _ = notes.Clean(change.Diff)
		c.Version = notes.Version(change.Diff)
	}
	if !agrees(r, c, c.Version) {
		return nil
	}
	if err := draft.Commit(ctx, "kept: "+w.Path); err != nil {
		return err
	}
	c.Written = true
	return nil
}

// hide hides a chunk or a whole document from search, or shows a document again. Files stay.
func (v page) hide(ctx context.Context, r view.ChangeRequest, c *view.Changed, _ agreement) error {
	if r.How == view.Unhide {
		hidden, err := v.s.Manager.Hidden(ctx, r.Path)
		if err == nil && hidden == 0 {
			err = core.ErrNotForgotten
		}
		if !agrees(r, c, fmt.Sprint(hidden)) || err != nil {
			return err
		}
		_, err = v.s.Manager.Remember(ctx, r.Path)
		c.Written = err == nil
		return err
	}
	chunks, err := v.s.Manager.Chunks(ctx, r.Path)
	if err != nil {
		return err
	}
	var ids []string
	if r.ID != "" {
		ids = []string{r.ID}
		chunks = slices.DeleteFunc(chunks, func(h core.MemoryHit) bool { return h.ID != r.ID })
	}
	if len(chunks) == 0 {
		return fmt.Errorf("hide %.80q %.80q: %w", r.Path, r.ID, core.ErrNotIndexed)
	}
	var all strings.Builder
	for _, h := range chunks {
		all.WriteString(h.ID)
		for line := range strings.SplitSeq(h.Text, "\n") {
			c.Diff += "-" + line + "\n"
		}
	}
	if !agrees(r, c, notes.Version(all.String())) {
		return nil
	}
	_, err = v.s.Use().Hide(ctx, v.s.Manager, r.Path, ids...)
	c.Written = err == nil
	return err
}

// Proposals implements view.Memory.
func (v page) Proposals(context.Context) (all []view.Proposal, err error) {
	waiting, err := v.s.Notes().Proposals().Waiting()
	for _, p := range waiting {
		text, _ := notes.Clean(p.Text)
		one := view.Proposal{ID: p.ID, Kind: p.Kind, At: p.At, Source: p.Source, Path: p.Path, Text: text}
		if p.Save != nil {
			one.Section, _ = notes.Clean(p.Save.Section)
			one.Supersedes, _ = notes.Clean(p.Save.Supersedes)
		}
		all = append(all, one)
	}
	return all, err
}

// Journal implements view.Memory.
func (v page) Journal(context.Context) (all []view.Entry, err error) {
	journal, err := v.s.Notes().Journal()
	if err != nil {
		return nil, err
	}
	records, err := journal.Records()
	names := v.s.Names()
	for _, r := range records {
		e := view.Entry{ID: r.ID, At: r.At, Label: r.Label, Agent: r.Agent}
		for _, h := range r.Edits {
			shown := func(text string) string { return strings.Join(notes.Shown(text), "\n") }
			e.Files = append(e.Files, view.Lines{Path: names.Of(h.File()), Before: shown(h.Old), After: shown(h.New), Secret: h.Secret})
		}
		all = append(all, e)
	}
	return all, err
}
