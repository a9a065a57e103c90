package guard

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/markdown/summary"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/injection"
)

// Files are facts and episodes for a model.
type Files struct {
	*notes.Data
	Guard
}

// Read implements notes.Files.
func (f Files) Read(ctx context.Context, name string) (string, error) {
	text, err := f.Data.Read(ctx, paths.Unspell(name))
	return f.Text(text), err
}

// List implements notes.Files.
func (f Files) List(ctx context.Context) ([]notes.Item, error) {
	items, err := f.Data.List(ctx)
	for i := range items {
		items[i] = f.Item(items[i])
	}
	return items, err
}

// Item returns an item of a list: its path is spelled as citations are, and read so.
func (f Files) Item(item notes.Item) notes.Item {
	item.Path, item.Summary = f.Name(paths.Spell(item.Path)), f.Line(item.Summary)
	return item
}

// Write implements notes.Files. It refuses to drop lines that the model did not see, except
// secrets.
func (f Files) Write(ctx context.Context, name, content string) (notes.Written, error) {
	name = paths.Unspell(name)
	before, err := f.Data.Read(ctx, name)
	if err != nil {
		before = "" // Data.Write reports what is wrong
	}
	if f.dropsUnseen(before, content) {
		return notes.Written{}, fmt.Errorf("%s: %w: parts of it were not shown to you: change others with memory_patch, add with save_memory and its path, or ask the person to look at the file", name, notes.ErrUnseen)
	}
	if err := noRemarks(name, before, content); err != nil {
		return notes.Written{}, err
	}
	return f.shown(f.Data.Write(ctx, name, content))
}

// Patch implements notes.Files.
func (f Files) Patch(ctx context.Context, name string, patches []notes.Patch, all bool) (notes.Written, error) {
	name = paths.Unspell(name)
	for _, p := range patches {
		if err := noRemarks(name, p.OldText, p.NewText); err != nil {
			return notes.Written{}, err
		}
	}
	return f.shown(f.Data.Patch(ctx, name, patches, all))
}

// Append implements notes.Files.
func (f Files) Append(ctx context.Context, name, entry, given string) (notes.Written, error) {
	name = f.AppendedTo(paths.Unspell(name))
	if err := noRemarks(name, "", entry+"\n"+given); err != nil {
		return notes.Written{}, err
	}
	if before, err := f.Data.Read(ctx, name); err == nil && given != "" && f.dropsUnseen(summary.Of(before), given) {
		return notes.Written{}, fmt.Errorf("%s: %w: the summary that is there was not shown to you: append without one", name, notes.ErrUnseen)
	}
	return f.shown(f.Data.Append(ctx, name, entry, given))
}

// shown guards the summary in the report of a change.
func (f Files) shown(w notes.Written, err error) (notes.Written, error) {
	w.Path, w.Summary = paths.Spell(w.Path), f.Line(w.Summary)
	return w, err
}

// dropsUnseen reports whether a new text lacks an old line that Text left out.
func (g Guard) dropsUnseen(before, after string) bool {
	if g.Filter.Policy != injection.Withhold {
		return false
	}
	before = summary.Without(before)
	var unseen []string
	for _, part := range g.Filter.Judge(before, injection.Foreign).Parts(before) {
		for line := range strings.Lines(part) {
			unseen = append(unseen, strings.TrimSpace(line))
		}
	}
	return slices.ContainsFunc(unseen, func(part string) bool { return !strings.Contains(after, part) })
}

// noRemarks refuses new remarks of Text, which would stay in the file.
func noRemarks(name, before, after string) error {
	for _, remark := range []string{injection.Gap, injection.Mark} {
		if strings.Count(after, remark) > strings.Count(before, remark) {
			return fmt.Errorf("%s: %w: %q is a remark about it, not part of it: leave it out", name, notes.ErrUnseen, remark)
		}
	}
	return nil
}
