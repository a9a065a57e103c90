package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
)

// Status returns what the memory holds and its Problems. It changes nothing. Errors: ctx's and
// ErrClosed.
func (m *Manager) Status(ctx context.Context) (Status, error) { return m.StatusWithin(ctx, 0) }

// StatusWithin is Status with a limit for comparing the files, or 0: then it sets Uncompared. While
// a running Watch has reported no change, it compares none.
func (m catalogue) StatusWithin(ctx context.Context, limit time.Duration) (Status, error) {
	status := Status{Folder: m.options.Folder, Engine: m.options.Engine.Name, Documents: map[string]int{}}
	for _, from := range m.options.Sources {
		status.Sources = append(status.Sources, from.Name())
	}
	current, err := m.acquire(ctx)
	if errors.Is(err, ErrClosed) || ctx.Err() != nil {
		return status, errors.Join(err, ctx.Err())
	}
	status.State = stateOf(err)
	if err != nil {
		switch status.State {
		case StateNewer:
			status.Problems = append(status.Problems, m.tooNew(err).Error())
		case StateDamaged:
			status.Problems = append(status.Problems, fmt.Sprintf("%v: index again to rebuild it", err))
		}
		return status, nil
	}
	defer current.release()
	m.describe(ctx, current, &status)
	m.compare(ctx, current.manifest, limit, &status)
	return status, ctx.Err()
}

func (m catalogue) describe(ctx context.Context, from snapshot, status *Status) {
	known := from.manifest
	if !known.Complete {
		status.State = StateBuilding
	}
	status.Embedder, status.Dimension, status.Updated = known.Embedder, known.Dimension, known.Updated
	for _, kind := range from.sums().Kinds {
		status.Documents[kind.Name] = kind.Documents
	}
	status.Logs = known.logs()
	problem := func(err error) {
		if err != nil {
			status.Problems = append(status.Problems, err.Error())
		}
	}
	var err error
	status.SetAside, err = from.setAside(ctx)
	problem(err)
	status.Chunks, status.Pending = known.chunks()
	status.Embedded = max(status.Chunks-status.Pending-known.setAside(), 0)
	if from.files.keywords != nil {
		status.Keywords, err = from.files.keywords.Stats(ctx)
		problem(err)
	}
	if from.files.vectors != nil {
		status.Vectors, err = from.files.vectors.Stats(ctx)
		problem(err)
	}
	problem(cmp.Or(m.tooNew(from.noVectors), from.noVectors))
	if missing := embed.Missing(m.options.Embedder); from.former && missing != nil {
		problem(fmt.Errorf("%w; until then vectors of %s answer", missing, known.Embedder))
	} else if from.former {
		problem(fmt.Errorf("vectors were made by %s, the embedder is now %s: they answer until the memory is indexed again", known.Embedder, m.options.Embedder.Fingerprint()))
	}
	if damage := from.notedDamage(); damage != "" {
		problem(fmt.Errorf("%s: index again to rebuild it", damage))
	}
	if from.vectors != nil {
		languages, err := from.languages(ctx)
		problem(err)
		maps.DeleteFunc(languages, func(language string, _ int) bool { return from.relevance.KnowsLanguage(language) })
		status.Unknown = languages
	}
}

// compare adds how the files differ from the index.
func (m catalogue) compare(ctx context.Context, known *manifest, limit time.Duration, status *Status) {
	if m.options.Contents != nil {
		return
	}
	inTime := ctx
	if limit > 0 {
		if m.watched.Load() {
			return
		}
		var stop context.CancelFunc
		inTime, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	found, err := m.scan(inTime, known)
	switch {
	case err != nil && inTime.Err() != nil && ctx.Err() == nil:
		status.Uncompared = true
		return
	case err != nil:
		status.Problems = append(status.Problems, err.Error())
	}
	found, status.Unread = found.withoutUnread(known)
	for _, s := range found.skipped {
		if s.Unreadable {
			status.Unread = append(status.Unread, s)
		}
	}
	if n := found.count(); n > 0 {
		status.Stale = &Staleness{Files: n, Reason: "changed since they were indexed"}
	}
	status.Problems = append(status.Problems, found.failed...)
}

// Check reads both indexes whole and compares them. After store.ErrCorrupt the next Index rebuilds.
// It accepts a missing index.
func (m *Manager) Check(ctx context.Context) error {
	if m.options.Contents != nil {
		return ErrElsewhere
	}
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return nil
	}
	if err != nil {
		return err
	}
	defer current.release()
	err = check(ctx, current)
	m.noteDamage(current, err)
	return err
}

func check(ctx context.Context, current snapshot) error {
	if err := current.files.keywords.Check(ctx); err != nil {
		return err
	}
	if current.noVectors != nil || current.files.vectors == nil {
		return current.noVectors
	}
	if err := current.files.vectors.Check(ctx); err != nil {
		return err
	}
	return agree(ctx, current)
}

// agree compares the manifest and both indexes.
func agree(ctx context.Context, from snapshot) error {
	for path, e := range from.manifest.Documents {
		if e.Unsure {
			continue // it will be read again
		}
		words, err := from.keywords.Document(ctx, path)
		if err != nil {
			return err
		}
		if len(words) != e.Chunks {
			return fmt.Errorf("%s has %d chunks in the manifest, %d in the keyword index: %w", path, e.Chunks, len(words), store.ErrCorrupt)
		}
		if e.Pending {
			continue
		}
		vectors, err := from.files.vectors.Document(ctx, path)
		if err != nil {
			return err
		}
		if put, gone := difference(vectors, e.SetAside.from(words)); len(put)+len(gone) > 0 {
			return fmt.Errorf("%s: %d chunks lack a vector, %d vectors have no chunk: %w", path, len(put), len(gone), store.ErrCorrupt)
		}
	}
	return nil
}
