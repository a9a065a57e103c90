package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"time"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/forgotten"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/source/keptlog"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/store"
)

// A writer changes one generation, under the writer lock. It marks documents Unsure first, so that
// the manifest never claims more than the indexes hold.
type writer struct {
	m          *indexer
	folder     string
	manifest   *manifest
	keywords   store.KeywordIndex
	vectors    store.VectorIndex // nil before the first vector
	opened     []store.Index     // by this writer, for itself
	report     *IndexReport
	progress   func(Progress)
	unfinished bool // an earlier run has left chunks to embed
	forgotten  *forgotten.Set
	said       *said             // what all logs say; nil until a digest changes
	unread     map[string]unread // as the saved manifest has it
	commits    commitDates
}

func (m *indexer) newWriter(folder string, manifest *manifest, x *indexes, report *IndexReport, progress func(Progress)) (*writer, error) {
	list, err := m.forgotten.load()
	if err != nil {
		return nil, err
	}
	own := *manifest // readers keep theirs
	own.Documents, own.Unread = maps.Clone(manifest.Documents), maps.Clone(manifest.Unread)
	if progress == nil {
		progress = func(Progress) {}
	}
	report.Redacted, report.SkippedLines, report.SkippedAt = map[string][]string{}, map[string]int{}, map[string]string{}
	_, left := own.chunks()
	return &writer{m: m, folder: folder, manifest: &own, keywords: x.files.keywords, vectors: x.files.vectors, report: report, progress: progress,
		unfinished: left > 0, forgotten: list, unread: manifest.Unread}, nil
}

func (w *writer) close() error {
	var err error
	for _, index := range w.opened {
		err = errors.Join(err, index.Close())
	}
	return err
}

// Commits bound memory and lose only seconds in a crash.
const (
	chunksPerCommit  = 4096
	chunksPerEmbed   = 64
	embedsPerCommit  = 1024
	recentlyModified = 100 * time.Millisecond

	// maxInTime bounds what is read of a log, in bytes, if there is a deadline.
	maxInTime = 16 << 20

	// The first commits are small, to be found soon; each doubles.
	firstChunksPerCommit = 256
	firstEmbedsPerCommit = 64
)

// A reading is a document beside its indexed records.
type reading struct {
	cutting         // until its records are compared with the index
	known      bool // it was indexed before
	put        []store.Record
	gone       []string
	digestLost bool       // the stored digest cannot be read
	kept       *keptFrame // nil if nothing is kept of it
}

// indexText updates the keyword index until the deadline, if any, and returns how many changes are
// left.
func (w *writer) indexText(ctx context.Context, found changes, deadline time.Time) (left int, err error) {
	if err := errors.Join(w.markGone(found.gone), w.remove(ctx, found.removed)); err != nil {
		return found.count(), err
	}
	w.commits = commitDates{read: found.read, deadline: deadline, known: map[string]map[string]time.Time{}}
	var batch []reading
	size, commitAt := 0, firstChunksPerCommit
	asked := false // some documents repeat nothing of what is forgotten
	for i, doc := range found.read {
		if err := ctx.Err(); err != nil {
			return len(found.read) - i, errors.Join(err, w.commitCancelled(batch))
		}
		if !deadline.IsZero() && i > 0 && time.Now().After(deadline) {
			left += len(found.read) - i
			break
		}
		if !deadline.IsZero() && w.behind(doc) > maxInTime {
			left++
			continue
		}
		w.progress(Progress{Stage: "read", Done: i, Total: len(found.read), Path: doc.Path})
		if w.repeatsNothing(ctx, doc) {
			e := w.manifest.Documents[doc.Path]
			e.Forgotten, asked = w.forgotten.Changed, true
			w.manifest.Documents[doc.Path] = e
			w.report.Unchanged++
			continue
		}
		r, err := w.tryRead(ctx, doc)
		if failed := (*indexFailure)(nil); errors.As(err, &failed) {
			return len(found.read) - i, err
		}
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) { // it was removed since it was listed
				w.countUnreadable(err)
				w.noteUnread(doc.Document, err)
			}
			continue
		}
		batch = append(batch, r)
		if size += len(r.put) + len(r.gone); size >= commitAt {
			if err := w.commitKeywords(ctx, batch); err != nil {
				return len(found.read) - i, err
			}
			batch, size, commitAt = nil, 0, min(2*commitAt, chunksPerCommit)
		}
	}
	err = errors.Join(w.commitKeywords(ctx, batch), w.saveUnread())
	if err == nil && asked {
		err = w.manifest.save(w.folder)
	}
	if err == nil && len(found.read) > 0 {
		err = w.removeMoved(ctx)
	}
	if err == nil {
		err = w.updateAliases(ctx, deadline)
	}
	w.progress(Progress{Stage: "read", Done: len(found.read) - left, Total: len(found.read)}) // words find all of it
	return left, err
}

// An indexFailure is not the fault of a document.
type indexFailure struct{ error }

func (f *indexFailure) Unwrap() error { return f.error }

// countUnreadable counts files without read permission.
func (w *writer) countUnreadable(err error) {
	if denied := (*fs.PathError)(nil); errors.As(err, &denied) {
		w.report.Unreadable++
	}
}

func (w *writer) commitCancelled(batch []reading) error {
	ctx, stop := context.WithTimeout(context.Background(), keepTimeout)
	defer stop()
	return w.commitKeywords(ctx, batch)
}

// from returns where to go on in a document.
func (w *writer) from(doc located) source.Position {
	known := w.manifest.Documents[doc.Path]
	if known.rewritten(doc.Document) || known.Scope != doc.Scope || known.Kind != doc.Kind || known.Forgotten != w.forgotten.Changed || known.Hidden > 0 || !w.m.keepsAll(doc.Document, known) {
		return source.Position{}
	}
	return known.Resume // none if the document is Unsure since its records changed
}

// behind returns about how many bytes of a log are not read yet; of a packed one that is not known,
// and could be any number.
func (w *writer) behind(doc located) int64 {
	switch {
	case doc.Kind != source.KindConversation:
		return 0
	case doc.Packed:
		return math.MaxInt64
	}
	return doc.Size - min(doc.Size, w.from(doc).Offset)
}

// read reads a document, a long log in pieces: all that is held of it is what is indexed.
func (w *writer) read(ctx context.Context, doc located) (reading, error) {
	known, indexed := w.manifest.Documents[doc.Path]
	r := reading{cutting: w.m.cutter.start(doc.Document, w.report.Redacted), known: indexed}
	r.entry.Source = doc.from.Name()
	if r.entry.Unsure = !doc.ModTime.IsZero() && time.Since(doc.ModTime).Abs() < recentlyModified; r.entry.Unsure {
		w.m.tooSoon.Store(true)
	}
	r.forgotten = w.m.isForgotten(w.forgotten, doc.Path)
	r.entry.Forgotten = w.forgotten.Changed
	r.entry.Pending, r.entry.Partly, r.entry.SetAside = known.Pending, known.Partly, known.SetAside
	r.entry.Aliases = known.Aliases
	r.entry.Gone = doc.from.Name() == keptSource && keptlog.Gone(doc.File)
	for from, before := w.from(doc), known; ; {
		content, earlier, err := w.readOn(ctx, &r, doc.from, from, before)
		if err != nil {
			return reading{}, err
		}
		r.describe(content)
		if doc.Kind != source.KindConversation {
			if !r.entry.Said.isKnown() {
				r.entry.Said = w.committedOn(ctx, doc)
			}
			if indexed && !known.Unsure && known.Forgotten == r.entry.Forgotten && known.Hash == r.entry.Hash && known.Scope == doc.Scope {
				r.entry.Chunks, r.entry.Links, r.entry.Hidden = known.Chunks, known.Links, known.Hidden
				return r, nil // touched, not changed
			}
		}
		r.redactContent(&content)
		r.entry.Hidden += w.forget(doc.Document, &content)
		warnings, err := r.add(content, earlier, before)
		if err != nil {
			return r, err
		}
		w.report.Warnings = append(w.report.Warnings, warnings...)
		if err := w.keep(&r, content); err != nil {
			return r, err
		}
		switch {
		case !content.More:
			return r, w.compare(ctx, &r, known)
		case content.Resume.Offset <= from.Offset && content.From > 1:
			return r, fmt.Errorf("read %s: it changes while it is read, at byte %d", doc.Path, from.Offset)
		}
		from, before = content.Resume, r.entry
	}
}

// readOn reads what follows a position, with the digest of what precedes it. before is the entry
// that this belongs to.
func (w *writer) readOn(ctx context.Context, r *reading, in source.Source, from source.Position, before entry) (content source.Content, earlier digest.Digest, err error) {
	doc := r.doc
	content, err = in.Read(ctx, doc, from)
	switch {
	case err != nil:
		return content, earlier, err
	case content.From > 1 && r.digest != nil:
		earlier = *r.digest
	case content.From > 1 && before.Digest != "":
		if earlier, err = readDigest(w.folder, doc.Path); err != nil {
			w.m.log.Warn("a log is read again from its beginning", "log", doc.Path, "error", err)
			r.digestLost = true
			content, err = in.Read(ctx, doc, source.Position{})
		}
	}
	for reason, n := range content.Skipped {
		if w.report.SkippedLines[reason] == 0 && content.SkippedAt[reason] > 0 {
			w.report.SkippedAt[reason] = paths.Citation(doc.Path, content.SkippedAt[reason], content.SkippedAt[reason])
		}
		w.report.SkippedLines[reason] += n
	}
	return content, earlier, err
}

// compare fills in what a reading changes in the index.
func (w *writer) compare(ctx context.Context, r *reading, known entry) error {
	records := r.all()
	old, err := w.keywords.Document(ctx, r.doc.Path)
	if err != nil {
		return &indexFailure{fmt.Errorf("compare %s with the index: %w", r.doc.Path, err)}
	}
	covered := old[:0]
	kept := 0
	for _, record := range old {
		if record.StartLine >= r.begin || record.Kind == KindStatement { // all of them are in records
			covered = append(covered, record)
		} else {
			kept++
		}
	}
	if r.begin > 1 {
		keepBefore(covered, records)
	}
	keepTimes(covered, records, r.entry.lastChange())
	setAliases(records, r.entry.Aliases)
	r.put, r.gone = difference(covered, records)
	r.records, r.statements = nil, nil
	r.entry.Chunks = kept + len(records)
	if len(r.put)+len(r.gone) > 0 {
		same := r.entry.Chunks - len(r.put)
		if known.Pending {
			same = min(same, known.Partly)
		}
		r.entry.Pending, r.entry.Partly = true, max(same, 0)
	}
	return nil
}

// commitKeywords marks the documents as half written, then changes the index, then the manifest.
func (w *writer) commitKeywords(ctx context.Context, batch []reading) error {
	if len(batch) == 0 {
		return nil
	}
	for _, r := range batch {
		w.noteLinks(r.doc.Path, r.entry)
	}
	if err := w.markChanging(batch); err != nil {
		return err
	}
	for _, r := range batch {
		if err := w.keywords.Put(ctx, r.put); err != nil {
			return w.discard(err)
		}
		if err := w.keywords.Delete(ctx, r.gone); err != nil {
			return w.discard(err)
		}
	}
	if err := w.keywords.Commit(ctx); err != nil {
		return w.discard(err)
	}
	if err := errors.Join(w.saveDigests(batch), w.saveKept(batch)); err != nil {
		return err
	}
	for _, r := range batch {
		w.count(r)
		w.manifest.Documents[r.doc.Path] = r.entry
	}
	return w.manifest.save(w.folder)
}

// markChanging marks the documents whose records change.
func (w *writer) markChanging(batch []reading) error {
	changed := false
	for _, r := range batch {
		if len(r.put)+len(r.gone) == 0 {
			continue
		}
		e, known := w.manifest.Documents[r.doc.Path]
		if !known {
			e = r.entry
			e.Chunks, e.Digest = 0, ""
		}
		e.Unsure, e.Pending, e.Hash, e.Resume = true, true, "", source.Position{}
		w.manifest.Documents[r.doc.Path] = e
		changed = true
	}
	if !changed {
		return nil
	}
	return w.manifest.save(w.folder)
}

func (w *writer) discard(err error) error {
	w.keywords.Discard()
	return err
}

func (w *writer) count(r reading) {
	w.report.Written += len(r.put)
	w.report.Deleted += len(r.gone)
	switch {
	case !r.known:
		w.report.Added++
	case len(r.put)+len(r.gone) > 0:
		w.report.Changed++
	default:
		w.report.Unchanged++
	}
}

func (w *writer) remove(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	for _, path := range paths {
		w.noteLinks(path, entry{})
	}
	if err := w.markUnsure(paths); err != nil {
		return err
	}
	all := []store.Index{w.keywords}
	if w.vectors != nil {
		all = append(all, w.vectors)
	}
	for i, index := range all {
		for _, path := range paths {
			gone, err := deleteDocument(ctx, index, path)
			if err != nil {
				return err
			}
			if i == 0 {
				w.report.Deleted += gone
			}
		}
		if err := index.Commit(ctx); err != nil {
			index.Discard()
			return err
		}
	}
	if err := w.forgetDigests(paths); err != nil {
		return err
	}
	for _, path := range paths {
		if w.manifest.Documents[path].Kept.Bytes > 0 && w.m.options.Kept != "" {
			if err := w.m.kept.Remove(path); err != nil {
				return err
			}
		}
		delete(w.manifest.Documents, path)
	}
	w.report.Removed += len(paths)
	return w.manifest.save(w.folder)
}

func (w *writer) markUnsure(paths []string) error {
	for _, path := range paths {
		e := w.manifest.Documents[path]
		e.Unsure, e.Resume = true, source.Position{}
		w.manifest.Documents[path] = e
	}
	return w.manifest.save(w.folder)
}

func deleteDocument(ctx context.Context, index store.Index, path string) (int, error) {
	records, err := index.Document(ctx, path)
	if err != nil {
		return 0, err
	}
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	if err := index.Delete(ctx, ids); err != nil {
		index.Discard()
		return 0, err
	}
	return len(ids), nil
}
