package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memcore/memcore/embed"
)

// freshen folds in what has changed on disk, within the time the options give, and says what it
// could not. It never fails a query.
func (m *Manager) freshen(ctx context.Context, took map[string]time.Duration) *Staleness {
	if m.options.Freshness < 0 || m.watched.Load() {
		return nil
	}
	started := time.Now()
	defer func() { took["fold-in"] = time.Since(started) }()
	stale, err := m.foldIn(ctx, started.Add(m.options.Freshness))
	if err != nil && ctx.Err() == nil {
		m.log.Warn("memory cannot fold in what has changed", "error", err)
		if stale == nil {
			stale = &Staleness{}
		}
		stale.Reason = err.Error()
	}
	return stale
}

// foldIn does what freshen says. An index that is missing, damaged or made otherwise is left to Index.
func (m *Manager) foldIn(ctx context.Context, deadline time.Time) (*Staleness, error) {
	found, unembedded, err := m.pendingChanges(ctx)
	if err != nil || found.count() == 0 && !unembedded {
		return nil, err
	}
	if found.count() == 0 {
		return nil, m.embedFew(ctx)
	}
	stale := &Staleness{Files: found.count()}
	unlock, ok, err := m.writing.try()
	if err != nil {
		return stale, err
	}
	if !ok {
		stale.Reason = "an indexing run is under way"
		return stale, nil
	}
	defer unlock()
	current, err := m.acquire(ctx) // again: it may have moved before we had the lock
	if err != nil {
		return stale, err
	}
	defer current.release()
	if current.manifest.Chunking != m.chunking() || current.noVectors != nil {
		stale.Reason = "the index was made with other settings: index again"
		return stale, nil
	}
	report := IndexReport{}
	w, err := m.newWriter(current.folder, current.manifest, current.indexes, &report, nil)
	if err != nil {
		return stale, err
	}
	left, err := w.catchUp(ctx, found, deadline)
	if err = errors.Join(err, w.close()); err != nil {
		m.meet(current, err)
		return stale, err
	}
	if left == 0 {
		return nil, nil
	}
	return &Staleness{Files: left, Reason: fmt.Sprintf("time budget of %v used up", m.options.Freshness)}, nil
}

// few is how many chunks without a vector a query embeds that has found no change. More are left to the next Index.
const few = 32

// embedFew embeds what earlier queries had no time for, if that is little. It may take as long as folding in does by default, also
// where the options give less: what was saved must not stay without vectors because every query is in a hurry.
func (m *Manager) embedFew(ctx context.Context) error {
	unlock, ok, err := m.writing.try()
	if err != nil || !ok {
		return err
	}
	defer unlock()
	current, err := m.acquire(ctx) // again: it may have moved before we had the lock
	if err != nil {
		return err
	}
	defer current.release()
	if current.manifest.Chunking != m.chunking() || current.noVectors != nil {
		return nil
	}
	w, err := m.newWriter(current.folder, current.manifest, current.indexes, &IndexReport{}, nil)
	if err != nil {
		return err
	}
	err = w.catchUpVectors(ctx, time.Now().Add(max(m.options.Freshness, defaultFreshness)))
	if err = errors.Join(err, w.close()); err != nil {
		m.meet(current, err)
	}
	return err
}

// pendingChanges are those since the last indexing; none if there is no usable index. unembedded reports whether a few chunks
// have no vector yet.
func (m *Manager) pendingChanges(ctx context.Context) (found changes, unembedded bool, err error) {
	current, err := m.acquire(ctx)
	if err != nil {
		return changes{}, false, nil // the query itself meets the same error and reports it
	}
	defer current.release()
	found, err = scan(ctx, m.options.Sources, current.manifest, m.isForeign)
	if err != nil {
		return changes{}, false, err
	}
	if len(found.failed) > 0 {
		m.log.Warn("memory cannot list a source", "sources", found.failed)
	}
	_, pending := current.manifest.chunks()
	return found, m.options.Embedder != nil && current.noVectors == nil && 0 < pending && pending <= few, nil
}

// catchUp folds text in until the deadline, then vectors as far as time is left.
func (w *writer) catchUp(ctx context.Context, found changes, deadline time.Time) (left int, err error) {
	if left, err = w.fold(ctx, found, deadline); err != nil {
		return left, err
	}
	if w.m.options.Embedder == nil || time.Now().After(deadline) {
		return left, nil
	}
	return left, w.catchUpVectors(ctx, deadline)
}

// catchUpVectors embeds what is pending until the deadline. It is no error if the embedder does not answer in time: the answer says how
// many chunks have no vector yet.
func (w *writer) catchUpVectors(ctx context.Context, deadline time.Time) error {
	inTime, stop := context.WithDeadline(ctx, deadline)
	defer stop()
	err := w.vectorise(inTime, deadline)
	if errors.Is(err, embed.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
