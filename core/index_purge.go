package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Forgetting marks records as deleted, but their text would stay in the files of the indexes until
// these are next rewritten. A purge rewrites them at once. The manifest says for which list of
// forgotten documents the last purge was, so that the next run repeats one that a crash or an error
// has prevented.

// purge only warns of a failure, unless it is asked for: nothing finds what is forgotten.
func (m *indexer) purge(ctx context.Context, options IndexOptions, report *IndexReport) error {
	forgotten, err := m.options.readForgotten()
	if err != nil || len(forgotten) == 0 && !options.Purge {
		return err
	}
	if err = m.purgeIndexes(ctx, options, forgotten); err == nil || ctx.Err() != nil {
		return err
	}
	err = fmt.Errorf("what was deleted or forgotten is not found, but still in files of the index until 'memcore index' can remove it: %w", err)
	if options.Purge {
		return err
	}
	report.Warnings = append(report.Warnings, err.Error())
	m.log.Warn("index not purged", "error", err)
	return nil
}

func (m *indexer) purgeIndexes(ctx context.Context, options IndexOptions, forgotten forgottenSet) error {
	current, err := m.acquire(ctx)
	if err != nil {
		return err
	}
	defer current.release()
	list := forgotten.hash()
	if current.manifest.Purged == list && !options.Purge {
		return nil
	}
	if err := current.keywords.Purge(ctx); err != nil {
		return err
	}
	if current.noVectors != nil {
		return current.noVectors
	}
	if err := m.deleteOutdated(ctx, current, forgotten); err != nil {
		return err
	}
	if current.vectors != nil {
		if err := current.vectors.Purge(ctx); err != nil {
			return err
		}
	}
	if err := m.folder.Prune(); err != nil {
		return err
	}
	changed := *current.manifest // readers keep theirs
	changed.Purged = list
	return changed.save(current.folder)
}

// deleteOutdated deletes vectors of forgotten documents that would wait for an embedder that is
// away.
func (m *indexer) deleteOutdated(ctx context.Context, current snapshot, forgotten forgottenSet) error {
	if current.vectors == nil {
		return nil
	}
	seen := map[string]bool{}
	for f := range forgotten {
		if seen[f.Path] || !current.manifest.Documents[f.Path].Pending {
			continue
		}
		seen[f.Path] = true
		have, err := current.vectors.Document(ctx, f.Path)
		want, wantErr := current.keywords.Document(ctx, f.Path)
		if err = errors.Join(err, wantErr); err != nil {
			return err
		}
		changed, gone := difference(have, want)
		for _, r := range changed {
			gone = append(gone, r.ID)
		}
		if err := current.vectors.Delete(ctx, gone); err != nil {
			current.vectors.Discard()
			return err
		}
	}
	return current.vectors.Commit(ctx)
}

func (s forgottenSet) hash() string {
	list := slices.SortedFunc(maps.Keys(s), func(a, b forgotten) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	var text strings.Builder
	for _, f := range list {
		fmt.Fprintf(&text, "%q %d %s\n", f.Path, f.Line, f.Text)
	}
	return hashOf([]byte(text.String()))
}
