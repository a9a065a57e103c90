package notes

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/section"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/markdown/summary"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/store/keyword"
)

// A Statement is a paragraph or a list item.
type Statement struct {
	Path        string `json:"path"` // as shown
	Dir         string `json:"-"`    // folder that the file is below, links resolved
	Name        string `json:"-"`    // in Dir, slash-separated
	First, Last int    `json:"-"`    // lines, from 1
	Text        string `json:"text"` // on one line
}

// Citation returns path and lines.
func (s Statement) Citation() string { return paths.Citation(s.Path, s.First, s.Last) }

// File returns the absolute path.
func (s Statement) File() string { return filepath.Join(s.Dir, filepath.FromSlash(s.Name)) }

// At moves the statement to another first line.
func (s Statement) At(first int) Statement {
	s.First, s.Last = first, first+s.Last-s.First
	return s
}

// textAt puts lines on one; "" if the text lacks them.
func textAt(text string, first, last int) string {
	lines := strings.Split(text, "\n")
	if first < 1 || last > len(lines) || first > last {
		return ""
	}
	return strings.Join(strings.Fields(strings.Join(lines[first-1:last], " ")), " ")
}

// statementsOf also returns the words of each.
func statementsOf(file Statement, text string) (all []Statement, words []string) {
	_, body, skipped, _ := chunker.SplitFrontmatter([]byte(text))
	for _, s := range statement.Of(body, 1) {
		file.First, file.Last = skipped+s.Start+1, skipped+s.End
		file.Text = textAt(text, file.First, file.Last)
		all, words = append(all, file), append(words, s.Words)
	}
	return all, words
}

// StatementsAbout returns the statements that say the query, else those with all its words
// but fillers, else struck ones.
func StatementsAbout(file Statement, query string) ([]Statement, error) {
	text, _, err := readFile(file.Dir, file.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	lines := strings.Split(text, "\n")
	wanted := statement.Words(query)
	terms := keyword.NewTerms()
	asked := terms.Demanded(statement.WithoutFillers(query))
	var same, containing, struck []Statement
	all, words := statementsOf(file, text)
	for i, s := range all {
		has := hasAll(terms.Of(s.Text), asked)
		switch {
		case has && statement.IsStruck(strings.Join(lines[s.First-1:s.Last], "\n")):
			struck = append(struck, s)
		case statement.Near(words[i], wanted):
			same = append(same, s)
		case has:
			containing = append(containing, s)
		}
	}
	switch {
	case len(same) > 0:
		return same, nil
	case len(containing) > 0:
		return containing, nil
	}
	return struck, nil
}

func hasAll(terms []string, asked []keyword.Asked) bool {
	return len(asked) > 0 && !slices.ContainsFunc(asked, func(a keyword.Asked) bool {
		return !a.Whole && !slices.ContainsFunc(a.Spellings, func(spelling string) bool { return slices.Contains(terms, spelling) })
	})
}

// Forget removes a statement, even if it has moved, and reports whether it did. Without Text it
// removes the lines that confirm has seen. Undo restores all but secrets.
func (j *Journal) Forget(ctx context.Context, s Statement, confirm func(context.Context, Change) (bool, error)) (Change, bool, error) {
	seen, first := "", true
	return j.change(ctx, "forget", s, confirm, func(before string, c *Change) (after string, err error) {
		if s.Text == "" && !first && before != seen {
			return "", ErrChanged
		}
		seen, first = before, false
		if s, err = s.in(before); err != nil {
			return "", err
		}
		c.Line = s.First
		return section.Remove(before, s.First, s.Last)
	})
}

// summarised takes out of a file's summary what a change has taken out of the file.
func summarised(before, after string) (string, error) {
	return revision(func(_ *Written, text string, _ bool) (string, error) {
		return summary.WithoutForgotten(strings.ReplaceAll(before, "\r\n", "\n"), text), nil
	}).apply(&Written{}, after, true)
}

// change changes a statement's file if confirm agrees, and reports whether it did. plan fills in
// the line.
func (j *Journal) change(ctx context.Context, what string, s Statement, confirm func(context.Context, Change) (bool, error), plan func(before string, c *Change) (after string, err error)) (Change, bool, error) {
	_ = j.Settle(ctx) // if it fails, so does the change itself
	change := Change{Path: s.Path, Line: s.First, File: s.File()}
	failed := func(err error) error { return fmt.Errorf("%s %s: %w", what, s.At(change.Line).Citation(), err) }
	planned := func() ([]Edit, error) {
		before, exists, err := readFile(s.Dir, s.Name)
		switch {
		case err != nil:
			return nil, err
		case !exists:
			return nil, ErrNoFile
		}
		after, err := plan(before, &change)
		if err == nil {
			after, err = summarised(before, after)
		}
		change.texts = []revised{{s.Path, before, after}}
		change.Diff = diff(s.Path, before, after)
		return []Edit{{Dir: s.Dir, Name: s.Name, Before: before, After: after}}, err
	}
	if _, err := planned(); err != nil {
		return change, false, failed(err)
	}
	if change.Diff == "" {
		return change, false, nil
	}
	if confirm != nil {
		if yes, err := confirm(ctx, change); err != nil || !yes {
			return change, false, err
		}
	}
	record, err := j.Do(ctx, what+" "+s.At(change.Line).Citation(), planned)
	if err != nil {
		return change, false, failed(err)
	}
	change.Record = record.ID
	for _, h := range record.Edits {
		if h.Secret {
			_, found := secret.Redact(h.Old)
			change.Redacted = append(change.Redacted, found...)
		}
	}
	return change, true, nil
}

// Lasting returns the text, which outlasts lines; otherwise if missing or secret.
func (s Statement) Lasting(otherwise string) string {
	if s.Text == "" {
		text, _, _ := readFile(s.Dir, s.Name)
		s.Text = textAt(text, s.First, s.Last)
	}
	if _, found := Clean(s.Text); len(found) > 0 {
		return otherwise
	}
	return cmp.Or(s.Text, otherwise)
}

// in finds the statement in its file's present text. ErrChanged means that it is there not exactly
// once.
func (s Statement) in(text string) (Statement, error) {
	if s.Text == "" || textAt(text, s.First, s.Last) == s.Text {
		return s, nil
	}
	all, _ := statementsOf(s, text)
	all = slices.DeleteFunc(all, func(other Statement) bool { return other.Text != s.Text })
	if len(all) != 1 {
		return s, ErrChanged
	}
	return all[0], nil
}
