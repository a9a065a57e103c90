package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
)

// A writer changes one generation. Whoever has one holds the writer lock. Its manifest is always at
// least as pessimistic as the indexes: a document is marked Unsure before its records change.
type writer struct {
	m         *Manager
	folder    string
	manifest  *manifest
	keywords  store.KeywordIndex
	vectors   store.VectorIndex    // nil until the first vector
	given     map[string][]float32 // vectors that came with records of other memories, by ID
	begun     bool                 // vectors was empty: it holds what this run has put there, each document once
	opened    []store.Index        // by this writer, for itself
	report    *IndexReport
	progress  func(Progress)
	forgotten map[forgotten]bool // what shall not be found, without times
}

func (m *Manager) newWriter(folder string, manifest *manifest, x *indexes, report *IndexReport, progress func(Progress)) (*writer, error) {
	forgotten, err := m.readForgotten()
	if err != nil {
		return nil, err
	}
	own := *manifest // readers keep theirs
	own.Documents = maps.Clone(manifest.Documents)
	if progress == nil {
		progress = func(Progress) {}
	}
	return &writer{m: m, folder: folder, manifest: &own, keywords: x.keywords, vectors: x.vectors, report: report, progress: progress,
		given: map[string][]float32{}, forgotten: forgotten}, nil
}

func (w *writer) close() error {
	var err error
	for _, index := range w.opened {
		err = errors.Join(err, index.Close())
	}
	return err
}

// Sizes of what is committed together: large enough that a commit's fixed cost does not show, small
// enough that a crash loses seconds and memory stays bounded.
const (
	chunksPerCommit  = 4096
	chunksPerEmbed   = 64
	embedsPerCommit  = 1024
	recentlyModified = 100 * time.Millisecond

	// The first commits of a run are smaller, so that something can be found at once; each is twice as
	// large as the one before.
	firstChunksPerCommit = 256
	firstEmbedsPerCommit = 64
)

// A reading is a document that was read and cut, and how its records differ from the indexed ones.
type reading struct {
	doc   located
	known bool // it was indexed before
	entry entry
	put   []store.Record
	gone  []string
}

// fold brings the keyword index in step with the documents, those of changes.read in order, and
// stops without error when deadline (if any) has passed; what is then left is returned.
func (w *writer) fold(ctx context.Context, found changes, deadline time.Time) (left int, err error) {
	if err := w.remove(ctx, found.removed); err != nil {
		return found.count(), err
	}
	var batch []reading
	size, commitAt := 0, firstChunksPerCommit
	for i, doc := range found.read {
		if err := ctx.Err(); err != nil {
			return len(found.read) - i, errors.Join(err, w.keep(batch))
		}
		if !deadline.IsZero() && i > 0 && time.Now().After(deadline) {
			left = len(found.read) - i
			break
		}
		w.progress(Progress{Stage: "read", Done: i, Total: len(found.read), Path: doc.Path})
		r, err := w.read(ctx, doc)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) { // one that is gone since it was listed is no memory any more
				w.countUnreadable(err)
				w.report.Skipped = append(w.report.Skipped, source.Skip{Path: doc.Path, Reason: err.Error()})
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
	w.progress(Progress{Stage: "read", Done: len(found.read) - left, Total: len(found.read)})
	return left, w.commitKeywords(ctx, batch)
}

// countUnreadable tells a file that the system does not let us read from one that is no memory, such
// as a binary one.
func (w *writer) countUnreadable(err error) {
	if denied := (*fs.PathError)(nil); errors.As(err, &denied) {
		w.report.Unreadable++
	}
}

// keep commits what a cancelled run has read so far.
func (w *writer) keep(batch []reading) error {
	ctx, stop := context.WithTimeout(context.Background(), keepTimeout)
	defer stop()
	return w.commitKeywords(ctx, batch)
}

// read reads a document and finds out what has to change in the keyword index.
func (w *writer) read(ctx context.Context, doc located) (reading, error) {
	known, indexed := w.manifest.Documents[doc.Path]
	from := known.Resume
	if known.Unsure || known.rewritten(doc.Document) || known.Scope != doc.Scope || known.Kind != doc.Kind || w.forgets(doc.Path) {
		from = source.Position{}
	}
	content, err := doc.from.Read(ctx, doc.Document, from)
	if err != nil {
		return reading{}, err
	}
	w.countSkippedLines(content.Skipped)
	r := reading{doc: doc, known: indexed, entry: entryOf(doc)}
	if r.entry.Unsure {
		w.m.tooSoon.Store(true)
	}
	r.entry.Resume = content.Resume
	r.entry.Pending, r.entry.Partly = known.Pending, known.Partly
	if doc.Kind == source.KindMarkdown {
		sum := sha256.Sum256(content.Markdown)
		r.entry.Hash = hex.EncodeToString(sum[:])
		if indexed && !known.Unsure && known.Hash == r.entry.Hash && known.Scope == doc.Scope {
			r.entry.Chunks = known.Chunks
			return r, nil // touched, not changed
		}
	}
	w.redactContent(&content)
	return r, w.compare(ctx, &r, content)
}

func entryOf(doc located) entry {
	return entry{Source: doc.from.Name(), File: doc.File, Kind: doc.Kind, Scope: doc.Scope, Size: doc.Size, ModTime: doc.ModTime, Changed: doc.Changed,
		Unsure: !doc.ModTime.IsZero() && time.Since(doc.ModTime).Abs() < recentlyModified}
}

// compare fills in what the new content changes.
func (w *writer) compare(ctx context.Context, r *reading, content source.Content) error {
	known := w.manifest.Documents[r.doc.Path]
	request := ""
	if content.From > 1 {
		request = known.Request
	}
	records, leftOut, warnings := w.recordsOf(r.doc, content, request)
	r.entry.countTurns(content, leftOut, known)
	r.entry.Request = requestBefore(r.entry.Resume, content, request)
	w.report.Warnings = append(w.report.Warnings, warnings...)
	old, err := w.keywords.Document(ctx, r.doc.Path)
	if err != nil {
		return err
	}
	covered := old[:0]
	kept := 0
	for _, record := range old {
		if record.StartLine >= content.From {
			covered = append(covered, record)
		} else {
			kept++
		}
	}
	if content.From > 1 {
		keepBefore(covered, records)
	}
	r.put, r.gone = difference(covered, records)
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

// requestBefore returns the title of the last request of an agent's log before the place where it will
// be read on. earlier is that of the one before the content.
func requestBefore(place source.Position, content source.Content, earlier string) string {
	if !content.Agent || place.Offset == 0 {
		return ""
	}
	turns := content.Turns
	for len(turns) > 0 && turns[len(turns)-1].Line > place.Line {
		turns = turns[:len(turns)-1]
	}
	return chunker.Request(turns, earlier)
}

// recordsOf cuts a document into the records that may be found. request is the title of the request
// before the content, of an agent's log that is read on. leftOut is as for the function recordsOf.
func (w *writer) recordsOf(doc located, content source.Content, request string) (records []store.Record, leftOut, warnings []string) {
	chunking := w.m.options.Chunking
	chunking.Redact = w.redact
	cut := func() (records []store.Record, leftOut, warnings []string) {
		records, leftOut, warnings = recordsOf(doc.Document, content, request, chunking)
		if !content.Agent { // Session has done it
			w.redactRecords(doc.Kind, records)
		}
		return records, leftOut, warnings
	}
	records, leftOut, warnings = cut()
	kept := w.withoutForgotten(doc.Path, records)
	if !content.Agent || len(kept) == len(records) || !w.silence(content.Turns, gone(records, kept)) {
		return kept, leftOut, warnings
	}
	counted := maps.Clone(w.report.Redacted)
	records, _, _ = cut() // without the headings that repeat it
	w.report.Redacted = counted
	return w.withoutForgotten(doc.Path, records), leftOut, warnings
}

// keepBefore gives back to the first turns of a log that is read on what was said before them, which is not read again.
func keepBefore(old, now []store.Record) {
	known := make(map[string]string, len(old))
	for _, r := range old {
		known[r.ID] = r.Before
	}
	for i, r := range now {
		if r.Before == "" {
			now[i].Before = known[r.ID]
		}
	}
}

func (w *writer) countSkippedLines(skipped map[string]int) {
	for reason, n := range skipped {
		if w.report.SkippedLines == nil {
			w.report.SkippedLines = map[string]int{}
		}
		w.report.SkippedLines[reason] += n
	}
}

// commitKeywords makes a batch of readings durable: first the warning that these documents may be
// half written, then the index, then the manifest.
func (w *writer) commitKeywords(ctx context.Context, batch []reading) error {
	if len(batch) == 0 {
		return nil
	}
	if err := w.warn(batch); err != nil {
		return err
	}
	for _, r := range batch {
		if err := w.keywords.Put(ctx, r.put); err != nil {
			return w.dropped(err)
		}
		if err := w.keywords.Delete(ctx, r.gone); err != nil {
			return w.dropped(err)
		}
	}
	if err := w.keywords.Commit(ctx); err != nil {
		return w.dropped(err)
	}
	for _, r := range batch {
		w.count(r)
		w.manifest.Documents[r.doc.Path] = r.entry
	}
	return w.manifest.save(w.folder)
}

// warn marks the documents of a batch whose records will change.
func (w *writer) warn(batch []reading) error {
	changed := false
	for _, r := range batch {
		if len(r.put)+len(r.gone) == 0 {
			continue
		}
		e, known := w.manifest.Documents[r.doc.Path]
		if !known {
			e = r.entry
			e.Chunks = 0
		}
		e.Unsure, e.Pending, e.Hash, e.Resume = true, true, "", source.Position{}
		w.manifest.Documents[r.doc.Path] = e
		changed = true
	}
	if !changed {
		return nil
	}
	w.manifest.Published = ""
	return w.manifest.save(w.folder)
}

func (w *writer) dropped(err error) error {
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

// remove takes documents that are gone out of both indexes.
func (w *writer) remove(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	if err := w.doubt(paths); err != nil {
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
	for _, path := range paths {
		delete(w.manifest.Documents, path)
	}
	w.report.Removed += len(paths)
	return w.manifest.save(w.folder)
}

// doubt marks documents whose records are about to go.
func (w *writer) doubt(paths []string) error {
	for _, path := range paths {
		e := w.manifest.Documents[path]
		e.Unsure = true
		w.manifest.Documents[path] = e
		if e.Source != sharedSource {
			w.manifest.Published = ""
		}
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

// ensureVectors opens the vectors once their dimension is known.
func (w *writer) ensureVectors(ctx context.Context, dimension int) error {
	if w.vectors != nil {
		if w.vectors.Dimension() != dimension {
			return fmt.Errorf("index has vectors of length %d, embedder %s now makes %d: %w",
				w.vectors.Dimension(), w.manifest.Embedder, dimension, embed.ErrDimension)
		}
		return nil
	}
	w.manifest.Dimension = dimension
	w.manifest.Engine = w.m.options.Engine.Name
	w.manifest.Embedder = w.m.options.Embedder.Fingerprint()
	vectors, err := w.m.openVectors(ctx, w.folder, w.manifest)
	if err != nil {
		return err
	}
	w.vectors = vectors
	w.opened = append(w.opened, vectors)
	records, err := vectors.Count(ctx)
	if err != nil {
		return err
	}
	w.begun = records == 0
	return w.manifest.save(w.folder)
}
