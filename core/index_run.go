package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// ErrEngine means that the engine differs although IndexOptions.KeepEngine is set.
var ErrEngine = errors.New("index was made with another engine")

// lookAgain is how long a run embeds before it looks for changes again.
const lookAgain = 10 * time.Second

// keepTimeout limits the last commit of a cancelled run.
const keepTimeout = 5 * time.Second

// Index updates the indexes: first text, then vectors, the newest documents first. An unchanged
// file costs a stat. After ctx ends, the next Index continues; a rebuild begins again, with cached
// vectors. Index waits for other processes that index.
//
// If the index is damaged, or of another engine, embedder, chunk size or earlier release, a new one
// is built; the old one answers until then. Only IndexOptions.Rebuild replaces an index of a newer
// release (store.ErrNewer), or another embedder's vectors while this one is away. An embedder that
// is away is in IndexReport.Degraded, unreadable files are in Skipped. Index fails if it can read
// no source.
func (m *Manager) Index(ctx context.Context, options IndexOptions) (IndexReport, error) {
	if m.options.Contents != nil {
		return IndexReport{}, ErrElsewhere
	}
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

func (m *indexer) index(ctx context.Context, options IndexOptions, report *IndexReport) error {
	reason, err := m.whyRebuild(ctx, options)
	if err != nil {
		return err
	}
	if reason == "" {
		err := m.bringUpToDate(ctx, options, report)
		if err == nil {
			return m.purge(ctx, options, report)
		}
		if !errors.Is(err, store.ErrCorrupt) || ctx.Err() != nil {
			return err
		}
		m.log.Warn("the index is damaged and is rebuilt", "error", err)
		reason, *report = err.Error(), IndexReport{}
	}
	report.Rebuilt = reason
	if err := m.rebuild(ctx, options, report); err != nil {
		return err
	}
	return m.purge(ctx, options, report)
}

func (m *indexer) bringUpToDate(ctx context.Context, options IndexOptions, report *IndexReport) error {
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
	known := current.manifest.withoutLostDigests(current.folder)
	return m.update(ctx, current.folder, known, current.indexes, report, options)
}

func (m *indexer) whyRebuild(ctx context.Context, options IndexOptions) (string, error) {
	current, err := m.acquire(ctx)
	if errors.Is(err, generation.ErrNone) {
		return "", nil
	}
	if err != nil {
		newer := m.tooNew(err)
		switch {
		case newer != nil && options.Rebuild:
			return AskedFor, nil
		case newer != nil:
			return "", newer
		case unusable(err):
			return err.Error(), nil
		}
		return "", err
	}
	defer current.release()
	from, to := current.manifest.Engine, m.options.Engine.Name
	switch chunking := m.cutter.Fingerprint(); {
	case options.KeepEngine && from != "" && from != to:
		return "", fmt.Errorf("index %s: vectors are kept by the engine %s, this is %s: %w", m.options.Folder, from, to, ErrEngine)
	case options.Rebuild:
		return AskedFor, nil
	case current.notedDamage() != "":
		return current.notedDamage(), nil
	case errors.Is(current.noVectors, store.ErrNewer):
		return "", m.tooNew(current.noVectors)
	case current.noVectors != nil && from != to:
		return fmt.Sprintf("vectors were kept by the engine %s, now by %s", from, to), nil
	case current.former:
		return fmt.Sprintf("vectors were made by %s, now by %s", current.manifest.Embedder, m.options.Embedder.Fingerprint()), m.canReplace(ctx, current.manifest)
	case current.manifest.Chunking != chunking:
		return fmt.Sprintf("chunks were cut by %s, now by %s", current.manifest.Chunking, chunking), m.canReplace(ctx, current.manifest)
	case current.noVectors != nil:
		return current.noVectors.Error(), nil
	}
	if err := m.opensAgain(ctx, current); unusable(err) {
		return err.Error(), nil
	}
	return "", nil
}

// canReplace protects another embedder's vectors while this one is away.
func (m *indexer) canReplace(ctx context.Context, known *manifest) error {
	e := m.options.Embedder
	if e == nil || known.Embedder == "" || known.Embedder == e.Fingerprint() {
		return nil
	}
	_, err := e.Embed(ctx, embed.Query, []string{"memory"})
	if errors.Is(err, embed.ErrUnavailable) {
		return fmt.Errorf("%w: the index with vectors of %s stays: start the model, or index with --rebuild to have no vectors until then", err, known.Embedder)
	}
	return nil // documents meet other errors, too
}

// opensAgain opens the indexes once more: open ones outlive their files.
func (m *indexer) opensAgain(ctx context.Context, current snapshot) error {
	again, err := m.openIndexes(ctx, current.folder, current.manifest)
	if err != nil {
		return err
	}
	return errors.Join(again.noVectors, again.release())
}

// AskedFor is IndexReport.Rebuilt after IndexOptions.Rebuild.
const AskedFor = "asked for"

// unusable reports whether an error demands a rebuild.
func unusable(err error) bool {
	reasons := []error{store.ErrCorrupt, store.ErrFormat, generation.ErrDamaged, store.ErrDimension, fs.ErrNotExist}
	return slices.ContainsFunc(reasons, func(reason error) bool { return errors.Is(err, reason) })
}

func (m *indexer) blank() *manifest {
	blank := &manifest{Chunking: m.cutter.Fingerprint(), Documents: map[string]entry{}}
	if m.options.Embedder != nil {
		blank.Engine = m.options.Engine.Name // EngineOf reports it even before the first vector
	}
	return blank
}

// beginFirst publishes an empty generation, so that queries see progress.
func (m *indexer) beginFirst(ctx context.Context) error {
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

// rebuild publishes a new generation once it is complete.
func (m *indexer) rebuild(ctx context.Context, options IndexOptions, report *IndexReport) (err error) {
	next, err := m.folder.BeginAnew(ctx)
	if err != nil {
		return fmt.Errorf("begin index in %s: %w", m.options.Folder, err)
	}
	defer func() {
		if err != nil {
			next.Abandon()
		}
	}()
	moved := m.beginCarrying(ctx, options)
	defer moved.close()
	blank := m.blank()
	moved.prepare(blank)
	x, err := m.openIndexes(ctx, next.Path(), blank)
	if err != nil {
		return err
	}
	if err = moved.into(ctx, x.files.vectors); err == nil {
		err = m.update(ctx, next.Path(), blank, x, report, options)
	}
	if err == nil {
		err = moved.finish(ctx, next.Path(), x.files.vectors)
	}
	if err = errors.Join(err, x.release()); err != nil {
		return err
	}
	return next.Publish()
}

func (m *indexer) update(ctx context.Context, folder string, known *manifest, x *indexes, report *IndexReport, options IndexOptions) error {
	w, err := m.newWriter(folder, known, x, report, options.Progress)
	if err != nil {
		return err
	}
	return errors.Join(w.update(ctx), w.close())
}

func (w *writer) update(ctx context.Context) error {
	w.progress(Progress{Stage: "scan"})
	unknown := w.manifest.unknownRecords()
	found, err := w.m.scan(ctx, w.manifest)
	if err != nil {
		return err
	}
	if len(found.failed) > 0 && len(found.failed) == len(w.m.options.Sources) {
		return fmt.Errorf("index: no source can be read: %s", strings.Join(found.failed, "; "))
	}
	w.report.Warnings = append(w.report.Warnings, found.failed...)
	w.report.Skipped = append(w.report.Skipped, found.skipped...)
	w.report.Unchanged = found.total - len(found.read)
	err = w.updateIndexes(ctx, found)
	w.report.Documents = len(w.manifest.Documents)
	w.report.Chunks, w.report.Pending = w.manifest.chunks()
	w.report.Unknown = w.manifest.newUnknown(unknown)
	return err
}

func (w *writer) updateIndexes(ctx context.Context, found changes) error {
	w.manifest.Unread = nil // all of it is tried again
	if _, err := w.indexText(ctx, found, time.Time{}); err != nil {
		return err
	}
	if !w.manifest.Complete && !found.hidden {
		w.manifest.Complete = true
		if err := w.manifest.save(w.folder); err != nil {
			return err
		}
	}
	if err := w.vectorise(ctx); err != nil {
		return err
	}
	w.compact(ctx)
	return nil
}

// vectorise embeds what is pending. Of a backlog it looks for changes now and then: a new note need
// not wait for all of it.
func (w *writer) vectorise(ctx context.Context) error {
	if w.m.options.Embedder == nil {
		return nil
	}
	if err := w.degrade(ctx, w.measure(ctx)); err != nil || w.report.Degraded != "" {
		return err
	}
	for v := newVectoriser(w); ; {
		left, err := v.run(ctx, time.Now().Add(w.m.lookAgain))
		if err = w.degrade(ctx, err); err != nil || !left || w.report.Degraded != "" {
			return err
		}
		found, err := w.m.scan(ctx, w.manifest)
		found, _ = found.withoutUnread(w.manifest)
		if err == nil && found.count() > 0 {
			_, err = w.indexText(ctx, found, time.Time{})
		}
		if err != nil {
			return err
		}
	}
}

// degrade leaves chunks pending if the embedder fails.
func (w *writer) degrade(ctx context.Context, err error) error {
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
