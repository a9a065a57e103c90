package app

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/forgotten"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/app/inventory"
	"github.com/memcore/memcore/internal/paths"
)

// UsedSince is the span of Summary in days.
const UsedSince = 30

// Use is the record of what agents got and opened.
type Use struct{ w *Workspace }

// Use returns the record of use of the workspace.
func (w *Workspace) Use() Use { return Use{w} }

// since is when the last UsedSince days began.
func since(now time.Time) time.Time {
	return now.AddDate(0, 0, -UsedSince).UTC().Truncate(time.Second)
}

// Summary sums up those days.
func (u Use) Summary() (journal.Summary, error) {
	entries, err := u.Entries()
	return journal.Summarise(entries, since(time.Now())), err
}

// Entries returns the workspace's journal.
func (u Use) Entries() ([]journal.Entry, error) {
	at, err := u.w.Folders()
	if err != nil {
		return nil, err
	}
	return at.Journal().Entries()
}

// minStatement is the shortest line to forget elsewhere, in bytes of letters and digits.
const minStatement = 8

func tooShort(text string) bool {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n += utf8.RuneLen(r)
		}
	}
	return n < minStatement
}

// ForgetStatement is Forget for a deleted statement.
func (u Use) ForgetStatement(ctx context.Context, p notes.Statement, c notes.Change) error {
	texts := []string{p.Text}
	for line := range strings.Lines(c.Diff) {
		if text, ok := strings.CutPrefix(line, "-"); ok && !strings.HasPrefix(text, "--") {
			texts = append(texts, strings.TrimSpace(strings.TrimLeft(text, " \t-*+>")))
		}
	}
	texts = slices.DeleteFunc(texts, tooShort)
	if p.First > 0 && c.Line > 0 {
		p = p.At(c.Line)
	}
	path := u.w.Names().Of(filepath.Join(p.Dir, filepath.FromSlash(p.Name)))
	return u.Forget(ctx, []journal.Place{{Path: path, First: p.First, Last: p.Last}}, texts...)
}

// Hide hides chunks of a document from search, or without ids all of it, and returns how many.
func (u Use) Hide(ctx context.Context, m *core.Manager, path string, ids ...string) (int, error) {
	chunks, err := m.Chunks(ctx, path)
	if err != nil {
		return 0, err
	}
	places := []journal.Place{{Path: path}}
	if len(ids) > 0 {
		places = nil
	}
	var texts []string // prompts say these, and other passages name them as their requests
	for _, h := range chunks {
		if len(ids) > 0 && !slices.Contains(ids, h.ID) {
			continue
		}
		if texts = append(texts, h.Text); len(ids) > 0 {
			places = append(places, journal.Place{Path: path, First: h.StartLine, Last: h.EndLine})
		}
	}
	gone, err := m.Forget(ctx, path, ids...)
	if err != nil {
		return gone.Chunks, err
	}
	return gone.Chunks, u.forgetAll(ctx, m, places, append(gone.Texts, texts...))
}

// HideLines hides what lines of a document say, and returns how many turns or paragraphs that is.
func (u Use) HideLines(ctx context.Context, m *core.Manager, path string, first, last int) (int, error) {
	gone, err := m.ForgetLines(ctx, path, first, last)
	if err != nil {
		return 0, err
	}
	return len(gone.Texts), u.forgetAll(ctx, m, []journal.Place{{Path: path, First: first, Last: last}}, gone.Texts)
}

// forgetAll removes what the index has forgotten from the journal, and from what memcore keeps of
// all projects: what hooks noted of sessions, proposals of rules, journals, what save --undo would
// take back, and indexes. A project whose index cannot be changed now forgets when it is next
// indexed or asked.
func (u Use) forgetAll(ctx context.Context, m *core.Manager, places []journal.Place, texts []string) error {
	slices.Sort(texts)
	texts = slices.DeleteFunc(slices.Compact(texts), tooShort)
	own, err := u.w.Folders()
	if err != nil {
		return err
	}
	projects, listing := inventory.Projects(u.w.Config)
	here, err := forgotten.Load(own.Forgotten(), own.Name())
	if err = errors.Join(listing, err, u.Forget(ctx, places, texts...)); err != nil {
		return err
	}
	undo, err := u.w.Notes().Journal()
	if err == nil {
		err = undo.Drop(ctx, func(text string) bool {
			_, hidden := here.Markdown([]byte(text))
			return hidden > 0 || journal.Repeats(text, texts...)
		})
	}
	plainly := func(text string) string { return text } // messages have no secrets
	for _, p := range projects {
		if p.Sessions != "" {
			proposals := notes.OpenProposals(p.Sessions, core.StatedFile, core.SolvedFile)
			isForgotten := func(source string) bool { return isOfLog(u.w.Names(), p.Sessions, source, places) }
			dropped, failed := proposals.Forget(ctx, isForgotten, texts...)
			list, unread := forgotten.Load(own.Forgotten(), p.Name)
			if unread != nil {
				return errors.Join(err, failed, unread)
			}
			err = errors.Join(err, failed, session.Forget(p.Sessions, func(turns []chunker.Turn) int { return list.Turns(turns, plainly) }))
			if dropped > 0 && p.Path == u.w.Project { // the files that show them are indexed
				err = errors.Join(err, purge(ctx, m))
			}
		}
		if p.Name == "" || p.Path == u.w.Project {
			continue
		}
		there := own.OwnOf(p.Name)
		err = errors.Join(err, there.Journal().Forget(ctx, nil, texts...))
		failed := u.w.inProject(ctx, p.Path, there, func(_ *Workspace, m *core.Manager) error { return purge(ctx, m) })
		if failed != nil {
			u.w.Note("%s forgets it when it is next indexed or asked: %v", p.Path, failed)
		}
	}
	return err
}

// isOfLog reports whether one of the places has the source of a proposal, which names a log in the
// folder of sessions without its path: ID/messages.jsonl#L1.
func isOfLog(names paths.Names, sessions, source string, places []journal.Place) bool {
	id, citation, _ := strings.Cut(source, "/")
	name, first, last, ok := paths.ParseCitation(citation)
	current, err := session.Open(sessions, id)
	if !ok || id == "" || err != nil {
		return false
	}
	document := session.PathPrefix + id + "/" + name
	if log := current.Log(); log != "" && paths.Spell(filepath.Base(log)) == name {
		document = names.Of(log)
	}
	return slices.ContainsFunc(places, func(p journal.Place) bool { return p.Has(document, first, last) })
}

// Forget removes places and texts from the journal.
func (u Use) Forget(ctx context.Context, places []journal.Place, texts ...string) error {
	at, err := u.w.Folders()
	if err != nil {
		return err
	}
	return at.Journal().Forget(ctx, places, texts...)
}
