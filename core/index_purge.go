package core

import (
	"context"
	"errors"
	"fmt"
)

// Forgetting marks records as deleted, but their text would stay in the files of the indexes until
// these are next rewritten. A purge rewrites them at once. The manifest says for which list of
// forgotten documents the last purge was, so that the next run repeats one that a crash or an error
// has prevented.

// purge only warns of a failure, unless it is asked for: nothing finds what is forgotten.
func (m *indexer) purge(ctx context.Context, options IndexOptions, report *IndexReport) error {
	list, err := m.forgotten.load()
	if err != nil || list.Changed == 0 && !options.Purge {
		return err
	}
	if err = m.purgeIndexes(ctx, options, list.Changed); err == nil || ctx.Err() != nil {
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

func (m *indexer) purgeIndexes(ctx context.Context, options IndexOptions, list int64) error {
	current, err := m.acquire(ctx)
	if err != nil {
		return err
	}
	defer current.release()
	if current.manifest.Purged == list && !options.Purge {
		return nil
	}
	if err := current.files.keywords.Purge(ctx); err != nil {
		return err
	}
	if current.noVectors != nil {
		return current.noVectors
	}
	if err := m.deleteOutdated(ctx, current); err != nil {
		return err
	}
	if current.files.vectors != nil {
		if err := current.files.vectors.Purge(ctx); err != nil {
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
func (m *indexer) deleteOutdated(ctx context.Context, current snapshot) error {
	if current.files.vectors == nil {
		return nil
	}
	for path, e := range current.manifest.Documents {
		if e.Hidden == 0 || !e.Pending {
			continue
		}
		have, err := current.files.vectors.Document(ctx, path)
		want, wantErr := current.files.keywords.Document(ctx, path)
		if err = errors.Join(err, wantErr); err != nil {
			return err
		}
		changed, gone := difference(have, want)
		for _, r := range changed {
			gone = append(gone, r.ID)
		}
		if err := current.files.vectors.Delete(ctx, gone); err != nil {
			current.files.vectors.Discard()
			return err
		}
	}
	return current.files.vectors.Commit(ctx)
}
