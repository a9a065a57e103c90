package notes

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/internal/section"
	"github.com/memcore/memcore/internal/statement"
	"github.com/memcore/memcore/store/keyword"
)

// A Place is lines of a memory file.
type Place struct {
	Path        string `json:"path"` // as shown
	Dir         string `json:"-"`    // folder that the file is beneath, links resolved
	Name        string `json:"-"`    // in Dir, slash-separated
	First, Last int    `json:"-"`    // lines, from 1
	Text        string `json:"text"` // on one line
}

// Citation is the place as citations are written.
func (p Place) Citation() string {
	if p.First == p.Last {
		return fmt.Sprintf("%s#L%d", p.Path, p.First)
	}
	return fmt.Sprintf("%s#L%d-L%d", p.Path, p.First, p.Last)
}

// At is the place with as many lines from another one on.
func (p Place) At(first int) Place {
	p.First, p.Last = first, first+p.Last-p.First
	return p
}

// StatementsAbout returns the statements of a memory file that say what the query says, or about; if none does, those that have all its words, and of those that are
// struck through only if there are no others.
// file names the file: its lines are filled in.
func StatementsAbout(file Place, query string) ([]Place, error) {
	text, _, err := readFile(file.Dir, file.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Path, err)
	}
	_, body, skipped, _ := chunker.SplitFrontmatter([]byte(text))
	lines := strings.Split(body, "\n")
	wanted := statement.Words(query)
	terms := keyword.NewTerms()
	asked := terms.Asked(query)
	var same, containing, struck []Place
	for _, s := range statement.Of(body, 1) {
		p := file
		p.First, p.Last = skipped+s.Start+1, skipped+s.End
		p.Text = strings.Join(strings.Fields(strings.Join(lines[s.Start:s.End], " ")), " ")
		has := hasAll(terms.Of(p.Text), asked)
		switch {
		case has && statement.IsStruck(strings.Join(lines[s.Start:s.End], "\n")):
			struck = append(struck, p)
		case statement.Near(s.Words, wanted):
			same = append(same, p)
		case has:
			containing = append(containing, p)
		}
	}
	for _, found := range [][]Place{same, containing} {
		if len(found) > 0 {
			return found, nil
		}
	}
	return struck, nil
}

func hasAll(terms []string, asked []keyword.Asked) bool {
	for _, a := range asked {
		if !a.Whole && !slices.ContainsFunc(a.Spellings, func(spelling string) bool { return slices.Contains(terms, spelling) }) {
			return false
		}
	}
	return len(asked) > 0
}

// Forget takes lines out of a memory file that say what Place.Text says, wherever they have got to since they were found; of a Place without Text the lines
// it names, if the file is as it was when confirm agreed. Change.Line is where they began. It tells whether something was written. The journal can take it back, but for lines that hold a secret: it keeps none.
func (j *Journal) Forget(ctx context.Context, p Place, confirm func(context.Context, Change) (bool, error)) (Change, bool, error) {
	_ = j.Settle(ctx) // if it fails, so does the change itself, and says why
	change := Change{Path: p.Path, Line: p.First}
	seen, first := "", true
	plan := func() ([]Edit, error) {
		before, exists, err := readFile(p.Dir, p.Name)
		switch {
		case err != nil:
			return nil, err
		case !exists:
			return nil, ErrNoFile
		case p.Text == "" && !first && before != seen:
			return nil, ErrChanged
		}
		seen, first = before, false
		if p, err = p.within(before); err != nil {
			return nil, err
		}
		change.Line = p.First
		after, err := section.Remove(before, p.First, p.Last)
		if err != nil {
			return nil, err
		}
		change.Diff, change.File = diff(p.Path, before, after), filepath.Join(p.Dir, filepath.FromSlash(p.Name))
		return []Edit{{Dir: p.Dir, Name: p.Name, Before: before, After: after}}, nil
	}
	if _, err := plan(); err != nil {
		return change, false, fmt.Errorf("forget %s: %w", p.Citation(), err)
	}
	if confirm != nil {
		if yes, err := confirm(ctx, change); err != nil || !yes {
			return change, false, err
		}
	}
	record, err := j.Do(ctx, "forget "+p.Citation(), plan)
	if err != nil {
		return change, false, fmt.Errorf("forget %s: %w", p.Citation(), err)
	}
	for _, h := range record.Edits {
		if h.Secret {
			_, change.Redacted = secret.Redact(h.Old)
		}
	}
	return change, true, nil
}

// within is the place in the text that its file has by now: others may have written meanwhile, which moves lines and makes them no other ones. It is
// ErrChanged if no statement, or more than one, says what Text says; a place without Text is where it is.
func (p Place) within(text string) (Place, error) {
	if p.Text == "" || saysStill(text, p) {
		return p, nil
	}
	_, body, skipped, _ := chunker.SplitFrontmatter([]byte(text))
	found := 0
	moved := p
	for _, s := range statement.Of(body, 1) {
		there := p
		if there.First, there.Last = skipped+s.Start+1, skipped+s.End; saysStill(text, there) {
			moved, found = there, found+1
		}
	}
	if found != 1 {
		return p, ErrChanged
	}
	return moved, nil
}

func saysStill(text string, p Place) bool {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return p.First >= 1 && p.Last <= len(lines) && strings.Join(strings.Fields(strings.Join(lines[p.First-1:p.Last], " ")), " ") == p.Text
}
