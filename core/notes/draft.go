package notes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/memcore/memcore/internal/markdown/summary"
)

// Files are facts and episodes: a Data or a Draft.
type Files interface {
	Read(ctx context.Context, name string) (string, error)
	Write(ctx context.Context, name, content string) (Written, error)
	Patch(ctx context.Context, name string, patches []Patch, all bool) (Written, error)
	Append(ctx context.Context, name, entry, summary string) (Written, error)
	List(ctx context.Context) ([]Item, error)
}

// A Draft is a Data until Commit, for one goroutine.
type Draft struct {
	data  *Data
	files map[string]*drafted // those that were changed
}

type drafted struct {
	before, after string
	existed       bool
	overwritten   bool // some step ignores the text before it
	steps         []step
}

// A step is a revision, and how many patches failed.
type step struct {
	revise revision
	failed int
}

// Draft returns a draft without changes.
func (d *Data) Draft() *Draft { return &Draft{data: d, files: map[string]*drafted{}} }

// Read implements Files.
func (d *Draft) Read(ctx context.Context, name string) (string, error) {
	if clean, err := checkPath(name); err == nil && d.files[clean] != nil {
		return d.files[clean].after, ctx.Err()
	}
	return d.data.Read(ctx, name)
}

// Write implements Files.
func (d *Draft) Write(ctx context.Context, name, content string) (Written, error) {
	return d.change(ctx, name, writing(content), true)
}

// Patch implements Files.
func (d *Draft) Patch(ctx context.Context, name string, patches []Patch, all bool) (Written, error) {
	return d.change(ctx, name, patching(patches, all), false)
}

// Append implements Files.
func (d *Draft) Append(ctx context.Context, name, entry, summary string) (Written, error) {
	return d.change(ctx, d.data.AppendedTo(name), appending(entry, summary, d.data.now()), false)
}

// List implements Files.
func (d *Draft) List(ctx context.Context) ([]Item, error) {
	items, err := d.data.List(ctx)
	if err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(i Item) bool { return d.files[i.Path] != nil })
	for name, f := range d.files {
		items = append(items, Item{Path: name, Summary: summary.For(f.after), Size: int64(len(f.after))})
	}
	sortItems(items)
	return items, nil
}

func (d *Draft) change(ctx context.Context, name string, revise revision, overwrites bool) (Written, error) {
	if err := ctx.Err(); err != nil {
		return Written{}, err
	}
	name, err := d.data.checkWritten(name)
	if err != nil {
		return Written{}, err
	}
	f := d.files[name]
	if f == nil {
		f = &drafted{}
		f.before, err = d.data.Read(ctx, name)
		f.existed = !errors.Is(err, ErrNoFile)
		if err != nil && f.existed {
			return Written{}, err
		}
		f.after = f.before
	}
	w := Written{Path: name}
	after, err := revise.apply(&w, f.after, f.existed || len(f.steps) > 0)
	if err != nil {
		return w, err
	}
	if len(after) > maxFile {
		return w, fmt.Errorf("memory file %s: it would be larger than %d MB", name, maxFile>>20)
	}
	if after != f.after {
		f.after, f.overwritten, f.steps = after, f.overwritten || overwrites, append(f.steps, step{revise, len(w.Failed)})
		d.files[name] = f
	}
	return w, nil
}

// Changes returns what Commit would write, by path.
func (d *Draft) Changes() []Written {
	var all []Written
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		if f := d.files[name]; f.after != f.before {
			all = append(all, Written{Path: name, Summary: summary.Of(f.after), Created: !f.existed, Diff: diff(name, f.before, f.after)})
		}
	}
	return all
}

// Commit writes all changes in one record, or none: ErrChanged means that a text to replace or a
// file to overwrite has changed.
func (d *Draft) Commit(ctx context.Context, label string) error {
	root, err := d.data.makeRoot()
	if err != nil {
		return err
	}
	_, err = d.data.journal.Do(ctx, cmp.Or(label, "draft"), func() ([]Edit, error) {
		var edits []Edit
		for _, name := range slices.Sorted(maps.Keys(d.files)) {
			f := d.files[name]
			if f.after == f.before {
				continue
			}
			now, exists, err := readFile(root, name)
			after := f.after
			if err == nil && (exists != f.existed || now != f.before) {
				after, err = f.applyTo(now, exists)
			}
			if err != nil {
				return nil, fmt.Errorf("memory file %s: %w", name, err)
			}
			edits = append(edits, Edit{Dir: root, Name: name, Before: now, After: after, Created: !exists})
		}
		return edits, nil
	})
	return err
}

// applyTo is for a file that has changed since.
func (f *drafted) applyTo(text string, exists bool) (string, error) {
	if f.overwritten {
		return "", ErrChanged
	}
	for i, s := range f.steps {
		var w Written
		var err error
		if text, err = s.revise.apply(&w, text, exists || i > 0); err != nil {
			return "", err
		}
		if len(w.Failed) > s.failed {
			return "", fmt.Errorf("%w: %s", ErrChanged, w.Failed[0])
		}
	}
	return text, nil
}
