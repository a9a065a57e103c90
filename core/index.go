package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// ErrEngine is the error of Index with IndexOptions.KeepEngine.
var ErrEngine = errors.New("index was made with another engine")

// keepTimeout is how long a cancelled run may take to keep what it has done.
const keepTimeout = 5 * time.Second

// Index brings the indexes in step with the documents: unchanged files cost a stat, changed ones
// only their changed chunks, deleted ones disappear. First all text goes into the keyword index,
// then vectors follow, newest documents first. When ctx ends it stops soon, what is done is kept,
// and the next Index goes on. Another process that is indexing is waited for.
//
// An index that is damaged, or was made by an earlier release, another engine, embedder or chunk size, is made anew
// beside the old one, which answers until then; IndexReport.Rebuilt says why. One that a newer release made is left
// as it is, with an error that wraps store.ErrNewer, unless IndexOptions.Rebuild asks for it. An embedder that is
// away is no error: IndexReport.Degraded tells, and Pending chunks get their vectors next time.
// Files that cannot be read are in IndexReport.Skipped. If all sources are unreadable, Index fails.
func (m *Manager) Index(ctx context.Context, options IndexOptions) (IndexReport, error) {
	started := time.Now()
	unlock, err := m.writing.acquire(ctx)
	if err != nil {
		return IndexReport{}, err
	}
	defer unlock()
	report := IndexReport{}
	err = m.index(ctx, options, &report)
	report.Took = time.Since(started)
	return report, err
}

func (m *Manager) index(ctx context.Context, options IndexOptions, report *IndexReport) error {
	reason, err := m.whyRebuild(ctx, options)
	if err != nil {
		return err
	}
	if reason == "" {
		err := m.bringUpToDate(ctx, options, report)
		if !errors.Is(err, store.ErrCorrupt) || ctx.Err() != nil {
			return err
		}
		m.log.Warn("the index is damaged, and is made anew", "error", err)
		reason, *report = err.Error(), IndexReport{}
	}
	report.Rebuilt = reason
	return m.rebuild(ctx, options, report)
}

func (m *Manager) bringUpToDate(ctx context.Context, options IndexOptions, report *IndexReport) error {
	if _, _, err := m.folder.Current(); errors.Is(err, generation.ErrNone) {
		if err := m.beginFirst(ctx); err != nil {
			return err
		}
	}
	current, err := m.acquire(ctx)
	if err != nil {
		return err
	}
	defer current.release()
	w, err := m.newWriter(current.folder, current.manifest, current.indexes, report, options.Progress)
	if err != nil {
		return err
	}
	return errors.Join(w.update(ctx), w.close())
}

// whyRebuild says why the current index cannot be brought up to date; "" if it can.
func (m *Manager) whyRebuild(ctx context.Context, options IndexOptions) (string, error) {
	current, err := m.acquire(ctx)
	if errors.Is(err, generation.ErrNone) {
		return "", nil
	}
	if err != nil {
		newer := m.tooNew(err)
		switch {
		case newer != nil && options.Rebuild:
			return askedFor, nil
		case newer != nil:
			return "", newer
		case unusable(err):
			return err.Error(), nil
		}
		return "", err
	}
	defer current.release()
	from, to := current.manifest.Engine, m.options.Engine.Name
	switch {
	case options.KeepEngine && from != "" && from != to:
		return "", fmt.Errorf("index %s: vectors are kept by the engine %s, this is %s: %w", m.options.Folder, from, to, ErrEngine)
	case options.Rebuild:
		return askedFor, nil
	case current.met() != "":
		return current.met(), nil
	case errors.Is(current.noVectors, store.ErrNewer):
		return "", m.tooNew(current.noVectors)
	case current.noVectors != nil && from != to:
		return fmt.Sprintf("vectors were kept by the engine %s, now by %s", from, to), nil
	case current.manifest.Chunking != m.chunking():
		return fmt.Sprintf("chunks were cut by %s, now by %s", current.manifest.Chunking, m.chunking()), nil
	case current.noVectors != nil:
		return current.noVectors.Error(), nil
	}
	if err := m.opensAgain(ctx, current); unusable(err) {
		return err.Error(), nil
	}
	return "", nil
}

// opensAgain opens the indexes as another process would: what is open here answers on, whatever becomes of its files.
func (m *Manager) opensAgain(ctx context.Context, current snapshot) error {
	again, err := m.openIndexes(ctx, current.folder, current.manifest)
	if err != nil {
		return err
	}
	return errors.Join(again.noVectors, again.release())
}

// askedFor is why IndexOptions.Rebuild rebuilds.
const askedFor = "asked for"

// unusable tells an index that has to be made anew from one that cannot be reached now.
func unusable(err error) bool {
	for _, reason := range []error{store.ErrCorrupt, store.ErrFormat, generation.ErrDamaged, store.ErrDimension, fs.ErrNotExist} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// chunking names everything that decides where chunks begin and end, and what they say.
func (m *Manager) chunking() string {
	o := m.options.Chunking
	counter := "estimate"
	if m.options.Embedder != nil {
		counter = m.options.Embedder.Fingerprint()
	}
	return fmt.Sprintf("v2/%d/%d/%d/%s%s", o.Target, o.Max, o.Overlap, counter, m.options.leftOut())
}

// blank is the manifest of an empty index.
func (m *Manager) blank() *manifest {
	blank := &manifest{Chunking: m.chunking(), Documents: map[string]entry{}}
	if m.options.Embedder != nil {
		blank.Engine = m.options.Engine.Name // also while the embedder is away: EngineOf tells what was chosen
	}
	return blank
}

// beginFirst publishes an empty generation, so that what is indexed first can be found while the
// rest is still being read.
func (m *Manager) beginFirst(ctx context.Context) error {
	next, err := m.folder.Begin(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin index in %s: %w", m.options.Folder, err)
	}
	if err := m.blank().save(next.Path()); err != nil {
		next.Abandon()
		return err
	}
	return next.Publish()
}

// rebuild makes a generation from nothing beside the current one and swaps it in when it is complete.
func (m *Manager) rebuild(ctx context.Context, options IndexOptions, report *IndexReport) (err error) {
	next, err := m.folder.BeginAnew(ctx)
	if err != nil {
		return fmt.Errorf("begin index in %s: %w", m.options.Folder, err)
	}
	defer func() {
		if err != nil {
			next.Abandon()
		}
	}()
	blank := m.blank()
	x, err := m.openIndexes(ctx, next.Path(), blank)
	if err != nil {
		return err
	}
	w, err := m.newWriter(next.Path(), blank, x, report, options.Progress)
	if err != nil {
		return errors.Join(err, x.release())
	}
	if err = errors.Join(w.update(ctx), w.close(), x.release()); err != nil {
		return err
	}
	return next.Publish()
}

// update does a whole run of indexing.
func (w *writer) update(ctx context.Context) error {
	w.progress(Progress{Stage: "scan"})
	found, err := scan(ctx, w.m.options.Sources, w.manifest, w.m.isForeign)
	if err != nil {
		return err
	}
	if len(found.failed) > 0 && len(found.failed) == len(w.m.options.Sources) {
		return fmt.Errorf("index: no source can be read: %s", strings.Join(found.failed, "; "))
	}
	w.report.Warnings = append(w.report.Warnings, found.failed...)
	w.report.Skipped = append(w.report.Skipped, found.skipped...)
	w.report.Unchanged = found.total - len(found.read)
	_, err = w.fold(ctx, found, time.Time{})
	if err == nil && !w.manifest.Complete && len(found.failed) == 0 {
		w.manifest.Complete = true
		err = w.manifest.save(w.folder)
	}
	if err == nil && w.m.shares() {
		w.progress(Progress{Stage: "share"})
		w.report.Shared = &SharedReport{}
		err = w.pull(ctx)
	}
	if err == nil {
		err = w.vectoriseOrDegrade(ctx)
	}
	if err == nil && w.m.shares() {
		err = w.publish(ctx)
	}
	if err == nil {
		w.compact(ctx)
	}
	w.report.Documents = len(w.manifest.Documents)
	w.report.Chunks, w.report.Pending = w.manifest.chunks()
	return err
}

// vectoriseOrDegrade lets an embedder that fails cost vectors, not the index.
func (w *writer) vectoriseOrDegrade(ctx context.Context) error {
	if w.m.options.Embedder == nil {
		return nil
	}
	err := w.measure(ctx)
	if err == nil {
		err = w.vectorise(ctx, time.Time{})
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, embed.ErrUnavailable) || errors.Is(err, embed.ErrDimension) {
		w.report.Degraded = err.Error()
		w.m.log.Warn("embedding stopped, keywords are searchable", "error", err)
		return nil
	}
	return err
}
