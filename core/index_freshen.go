package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/memcore/memcore/embed"
)

// freshen indexes changes within Options.Freshness and returns what is left, and why sources cannot
// be listed. It never fails a query.
func (m *indexer) freshen(ctx context.Context, took map[string]time.Duration) (stale *Staleness, unlisted []string) {
	if m.options.Freshness < 0 || m.watched.Load() {
		return nil, nil
	}
	started := time.Now()
	defer func() { took["fold-in"] = time.Since(started) }()
	stale, unlisted, err := m.indexChanges(ctx, started.Add(m.options.Freshness))
	if err != nil && ctx.Err() == nil {
		m.log.Warn("memory cannot index what has changed", "error", err)
		if stale == nil {
			stale = &Staleness{}
		}
		stale.Reason = err.Error()
	}
	return stale, unlisted
}

// A query makes fewPending missing vectors, Index more.
const fewPending = 32

// indexChanges leaves a rebuild to Index.
func (m *indexer) indexChanges(ctx context.Context, deadline time.Time) (stale *Staleness, unlisted []string, err error) {
	found, unfinished, err := m.pendingChanges(ctx)
	if err != nil || found.count() == 0 && !unfinished {
		return nil, found.failed, err
	}
	stale, err = m.indexFound(ctx, found, deadline)
	return stale, found.failed, err
}

func (m *indexer) indexFound(ctx context.Context, found changes, deadline time.Time) (*Staleness, error) {
	because := func(reason string) *Staleness {
		if found.count() == 0 {
			return nil // only vectors or aliases are missing
		}
		return &Staleness{Files: found.count(), Reason: reason}
	}
	unlock, ok, err := m.writing.try()
	if err != nil || !ok {
		return because("an indexing run is under way"), err
	}
	defer unlock()
	current, err := m.acquire(ctx) // again: it may have changed before the lock was taken
	if err != nil {
		return because(""), err
	}
	defer current.release()
	if current.manifest.Chunking != m.cutter.Fingerprint() || current.noVectors != nil {
		return because("the index was made with other settings: index again"), nil
	}
	w, err := m.newWriter(current.folder, current.manifest, current.indexes, &IndexReport{}, nil)
	if err != nil {
		return because(""), err
	}
	if found.count() == 0 { // else short budgets leave saved notes without them for good
		deadline = time.Now().Add(max(m.options.Freshness, defaultFreshness))
	}
	left, err := w.catchUp(ctx, found, deadline)
	if err = errors.Join(err, w.close()); err != nil {
		m.noteDamage(current, err)
		return because(""), err
	}
	if left == 0 {
		return nil, nil
	}
	return &Staleness{Files: left, Reason: fmt.Sprintf("time budget of %v used up", m.options.Freshness)}, nil
}

// pendingChanges returns none without a usable index. unfinished means that some chunks, at most
// fewPending, lack a vector, or that links changed.
func (m *indexer) pendingChanges(ctx context.Context) (found changes, unfinished bool, err error) {
	current, err := m.acquire(ctx)
	if err != nil {
		return changes{}, false, nil // the query itself meets the error and reports it
	}
	defer current.release()
	if found, err = m.scan(ctx, current.manifest); err != nil {
		return changes{}, false, err
	}
	found, _ = found.withoutUnread(current.manifest)
	_, pending := current.manifest.chunks()
	unembedded := m.options.Embedder != nil && current.noVectors == nil && !current.former && 0 < pending && pending <= fewPending
	return found, unembedded || current.manifest.LinksChanged, nil
}

// catchUp indexes text until the deadline, then vectors.
func (w *writer) catchUp(ctx context.Context, found changes, deadline time.Time) (left int, err error) {
	left, err = w.indexText(ctx, found, deadline)
	if err != nil || w.m.options.Embedder == nil || time.Now().After(deadline) {
		return left, err
	}
	inTime, stop := context.WithDeadline(ctx, deadline)
	defer stop()
	_, err = newVectoriser(w).run(inTime, deadline)
	if errors.Is(err, embed.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		err = nil // the answer says how many chunks have no vector yet
	}
	return left, err
}
