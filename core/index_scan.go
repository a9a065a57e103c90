package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/memcore/memcore/core/source"
)

// changes are the differences between disk and manifest.
type changes struct {
	read    []located // new or changed, newest first
	removed []string  // paths
	gone    []string  // paths of logs whose files are gone since the last run; they stay
	total   int       // documents on disk
	skipped []source.Skip
	failed  []string // sources that could not be listed; their documents stay as they are
	hidden  bool     // one of them may have documents: it is there
}

type located struct {
	source.Document
	from source.Source
}

func (c changes) count() int { return len(c.read) + len(c.removed) + len(c.gone) }

// scan skips other memories' documents.
func (m *indexer) scan(ctx context.Context, indexed *manifest) (changes, error) {
	var found changes
	o := m.options
	list, err := m.forgotten.load()
	if err != nil {
		return changes{}, err
	}
	var all []listedSource
	present, unlisted, skipped := map[string]bool{}, map[string]bool{}, map[source.Skip]bool{}
	for _, from := range o.Sources {
		listing, err := from.List(ctx)
		if err := ctx.Err(); err != nil {
			return changes{}, err
		}
		if err != nil {
			found.failed = append(found.failed, fmt.Sprintf("%s: %v", from.Name(), err))
			unlisted[from.Name()] = true
			found.hidden = found.hidden || !errors.Is(err, fs.ErrNotExist)
			continue
		}
		for _, skip := range listing.Skipped {
			if !skipped[skip] { // sources overlap
				skipped[skip] = true
				found.skipped = append(found.skipped, skip)
			}
		}
		for _, path := range indexed.below(listing.Skipped) {
			present[path] = true
		}
		all = append(all, listedSource{from, listing.Documents})
	}
	copies := needless(all, indexed, unlisted)
	for _, l := range all {
		for _, doc := range l.documents {
			if present[doc.Path] || copies[doc.Path] {
				continue // sources overlap; the first one has it
			}
			present[doc.Path] = true
			if known, ok := indexed.Documents[doc.Path]; !ok || !known.unchanged(doc, list.Changed) {
				found.read = append(found.read, located{Document: doc, from: l.from})
			}
		}
	}
	found.total = len(present)
	if err := found.scanKept(ctx, o, indexed, list.Changed, present, unlisted); err != nil {
		return changes{}, err
	}
	slices.Sort(found.removed)
	slices.Sort(found.gone)
	slices.SortStableFunc(found.read, func(a, b located) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), cmp.Compare(a.Path, b.Path))
	})
	return found, nil
}
