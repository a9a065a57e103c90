package core

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/memcore/memcore/core/source"
)

// changes are what differs between the documents and the manifest.
type changes struct {
	read    []located // new or changed, newest first
	removed []string  // paths
	total   int       // documents there are
	skipped []source.Skip
	// failed are sources that could not be listed; nothing is concluded about their documents.
	failed []string
}

// A located document knows the source it is read from.
type located struct {
	source.Document
	from source.Source
}

func (c changes) count() int { return len(c.read) + len(c.removed) }

// scan lists all sources and compares them with what is indexed. It costs a stat a file.
// Documents that are foreign belong to no source.
func scan(ctx context.Context, sources []source.Source, indexed *manifest, foreign func(entry) bool) (changes, error) {
	var found changes
	present := map[string]bool{}
	unlisted := map[string]bool{}
	for _, from := range sources {
		listing, err := from.List(ctx)
		if err := ctx.Err(); err != nil {
			return changes{}, err
		}
		if err != nil {
			found.failed = append(found.failed, fmt.Sprintf("%s: %v", from.Name(), err))
			unlisted[from.Name()] = true
			continue
		}
		found.skipped = append(found.skipped, listing.Skipped...)
		for _, doc := range listing.Documents {
			if present[doc.Path] {
				continue // two sources that overlap; the first one has it
			}
			present[doc.Path] = true
			if known, ok := indexed.Documents[doc.Path]; !ok || !known.unchanged(doc) {
				found.read = append(found.read, located{Document: doc, from: from})
			}
		}
	}
	for path, known := range indexed.Documents {
		if !present[path] && !unlisted[known.Source] && !foreign(known) {
			found.removed = append(found.removed, path)
		}
	}
	found.total = len(present)
	slices.Sort(found.removed)
	slices.SortStableFunc(found.read, func(a, b located) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), cmp.Compare(a.Path, b.Path))
	})
	return found, nil
}
