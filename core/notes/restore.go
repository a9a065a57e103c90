package notes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/jsonfile"
)

// Records returns the workspace's changes that can be undone, the newest first.
func (j *Journal) Records() ([]Record, error) {
	h, err := jsonfile.Load[history](j.file)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	own := slices.DeleteFunc(slices.Clone(h.Done), func(r Record) bool { return r.Workspace != j.workspace })
	slices.Reverse(own)
	return own, nil
}

// Restore undoes one change of the workspace if confirm agrees. Unlike Undo it finds the place in a
// changed file, and keeps a change that it cannot undo. name names a file for a person.
func (j *Journal) Restore(ctx context.Context, id string, name func(file string) string, confirm func(context.Context, Change) (bool, error)) (change Change, written bool, err error) {
	h, unlock, err := j.locked(ctx)
	if err != nil {
		return Change{}, false, err
	}
	unlock() // a question may stay open for hours
	if change, _, err = j.restoring(h, id, name); err != nil {
		return change, false, err
	}
	seen := change.Version()
	if yes, err := confirm(ctx, change); err != nil || !yes {
		return change, false, err
	}
	if h, unlock, err = j.locked(ctx); err != nil {
		return change, false, err
	}
	defer unlock()
	change, edits, err := j.restoring(h, id, name)
	if err == nil && change.Version() != seen {
		err = ErrChanged
	}
	if err != nil {
		return change, false, err
	}
	at := slices.IndexFunc(h.Done, func(r Record) bool { return r.ID == id })
	last := h.Done[at]
	h.Done = slices.Delete(slices.Clone(h.Done), at, at+1)
	h.UndoingAt = at
	err = j.commit(&h, j.recordOf("undo: "+last.Label, edits), edits, &last)
	return change, err == nil, err
}

// maxLinesBeside is how many lines beside a change are kept.
const maxLinesBeside = 3

// beside returns lines above and below a place, up to one that is not blank, but none with secrets.
func beside(text string, from, to int) (above, below string) {
	before, after := strings.SplitAfter(text[:from], "\n"), strings.SplitAfter(text[to:], "\n")
	slices.Reverse(before)
	before = slices.DeleteFunc(before, func(l string) bool { return l == "" })
	take := func(lines []string) []string {
		n := slices.IndexFunc(lines, func(l string) bool { return strings.TrimSpace(l) != "" }) + 1
		return slices.Clone(lines[:min(n, maxLinesBeside)])
	}
	upper := take(before)
	slices.Reverse(upper)
	above, below = strings.Join(upper, ""), strings.Join(take(after), "")
	if len(above)+len(below) > maxBeside || holdsSecret(text, from-len(above), from) || holdsSecret(text, to, to+len(below)) {
		return "", ""
	}
	return above, below
}

// maxBeside bounds the lines beside a change, in bytes.
const maxBeside = 4 << 10

// relocated undoes the hunk where its lines and neighbours are exactly once.
func (h Hunk) relocated() (Edit, error) {
	now, exists, err := readFile(h.Dir, h.Name)
	if err != nil || !exists || h.Created || h.Removed {
		return Edit{}, errors.Join(err, ErrChanged)
	}
	for _, side := range [][2]string{{h.Above, h.Below}, {h.Above, ""}, {"", h.Below}, {"", ""}} {
		here := side[0] + h.New + side[1]
		at := strings.Index(now, here)
		if strings.TrimSpace(here) == "" || at < 0 || !wholeLines(now, at, at+len(here)) || strings.Contains(now[at+1:], here) {
			continue
		}
		at += len(side[0])
		old, rest := h.Old, now[at+len(h.New):]
		if old != "" && rest != "" && !strings.HasSuffix(old, "\n") && strings.HasSuffix(h.New, "\n") {
			old += "\n" // it was the last line
		}
		return Edit{Dir: h.Dir, Name: h.Name, Before: now, After: now[:at] + old + rest}, nil
	}
	return Edit{}, ErrChanged
}

// wholeLines reports whether a part of a text begins and ends with lines.
func wholeLines(text string, from, to int) bool {
	begins := from == 0 || text[from-1] == '\n'
	return begins && (to == len(text) || text[to] == '\n' || text[to-1] == '\n')
}

// restoring returns what undoes a change now.
func (j *Journal) restoring(h history, id string, name func(file string) string) (Change, []Edit, error) {
	at := slices.IndexFunc(h.Done, func(r Record) bool { return r.ID == id && r.Workspace == j.workspace })
	if at < 0 {
		return Change{}, nil, ErrNoRecord
	}
	r := h.Done[at]
	if len(r.Edits) == 0 {
		return Change{}, nil, ErrNoRecord
	}
	c := Change{Path: name(r.Edits[0].File()), File: r.Edits[0].File()}
	edits, err := r.reverse(Hunk.relocated)
	if errors.Is(err, ErrChanged) {
		err = fmt.Errorf("%w: correct it by hand", err)
	}
	for _, e := range edits {
		path := name(Hunk{Dir: e.Dir, Name: e.Name}.File())
		c.texts = append(c.texts, revised{path, e.Before, e.After})
		c.Diff += diff(path, e.Before, e.After)
	}
	return c, edits, err
}
