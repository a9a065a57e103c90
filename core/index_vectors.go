package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
)

// firstPassLimit bounds a document's chunks: notes do not wait for huge logs. Each pass doubles it.
const firstPassLimit = 256

// A vectoriser embeds what the vector index lacks. It may stop at any time: the keyword index is
// its queue.
type vectoriser struct {
	w        *writer
	wasEmpty bool      // the index was empty: this run has put each document there once
	group    []portion // of documents, to be embedded together
	size     int       // chunks in group
	batch    vectorBatch
	commitAt int // chunks; grows, so that the first vectors come early
	progress Progress
}

// A portion is what one pass embeds of a document.
type portion struct {
	path string
	put  []store.Record
	gone []string
	last bool // the document is complete with it
}

// A vectorBatch is committed together.
type vectorBatch struct {
	put    []store.Record
	gone   []string
	failed []failedRecord
	done   []string // documents that are complete with this batch
}

// A failedRecord is one that is set aside.
type failedRecord struct {
	store.Record
	reason string
}

func newVectoriser(w *writer) *vectoriser {
	all, pending := w.manifest.chunks()
	progress := Progress{Stage: "embed", Total: pending}
	if w.unfinished {
		progress.Kept = all - pending
	}
	return &vectoriser{w: w, commitAt: firstEmbedsPerCommit, progress: progress}
}

// run stops at the deadline, if any, and keeps vectors. left reports that it stopped.
func (v *vectoriser) run(ctx context.Context, deadline time.Time) (left bool, err error) {
	late := func() bool {
		left = !deadline.IsZero() && time.Now().After(deadline)
		return left
	}
	paths := pendingDocuments(v.w.manifest)
	if len(paths) > 0 {
		v.w.m.embedder.meet(ctx)
	}
	err = v.embedAll(ctx, paths, late)
	return left, errors.Join(err, v.commitRest(ctx))
}

func (v *vectoriser) embedAll(ctx context.Context, paths []string, late func() bool) error {
	for limit := firstPassLimit; len(paths) > 0; limit *= 2 {
		long, err := v.pass(ctx, paths, late, limit)
		if err == nil {
			err = v.finish(ctx)
		}
		if err == nil && len(long) > 0 {
			err = v.commit(ctx) // the next pass compares with what is there
		}
		if err != nil {
			return err
		}
		v.wasEmpty, paths = false, long
	}
	return nil
}

// pass returns the documents with more than limit chunks to embed.
func (v *vectoriser) pass(ctx context.Context, paths []string, late func() bool, limit int) (long []string, err error) {
	for _, path := range paths {
		if late() {
			return nil, nil
		}
		s, err := v.portionOf(ctx, path, limit)
		if err != nil {
			return nil, err
		}
		if !s.last {
			long = append(long, path)
		}
		v.group, v.size = append(v.group, s), v.size+len(s.put)
		if v.size < chunksPerEmbed {
			continue
		}
		if err := v.finish(ctx); err != nil {
			return nil, err
		}
	}
	return long, nil
}

// portionOf puts records whose vectors are missing or outdated, without those that are set aside.
func (v *vectoriser) portionOf(ctx context.Context, path string, limit int) (portion, error) {
	want, err := v.w.keywords.Document(ctx, path)
	if err != nil {
		return portion{}, err
	}
	var have []store.Record
	if v.w.vectors != nil && !v.wasEmpty {
		if have, err = v.w.vectors.Document(ctx, path); err != nil {
			return portion{}, err
		}
	}
	s := portion{path: path, last: true}
	s.put, s.gone = difference(have, v.w.setAside(path, want).from(want))
	v.progress.Total += len(s.put) - v.w.manifest.Documents[path].pending() // an estimate
	if len(s.put) <= limit {
		return s, nil
	}
	s.last = false
	if v.w.manifest.Documents[path].Kind == source.KindConversation {
		s.put = s.put[len(s.put)-limit:] // what was said last
	} else {
		s.put = s.put[:limit]
	}
	return s, nil
}

func (v *vectoriser) step(path string, made int) {
	v.progress.Path, v.progress.Done = path, v.progress.Done+made
	v.progress.Total = max(v.progress.Total, v.progress.Done)
	v.w.progress(v.progress)
}

// finish embeds the group and commits full batches. After a failure the batch has the vectors so
// far.
func (v *vectoriser) finish(ctx context.Context) error {
	var records []store.Record
	for _, s := range v.group {
		records = append(records, s.put...)
	}
	for some := range slices.Chunk(records, chunksPerEmbed) {
		if err := v.embed(ctx, some); err != nil {
			v.group, v.size = nil, 0
			return err
		}
		v.step(some[0].Path, len(some))
		if err := v.commitIfFull(ctx); err != nil {
			return err
		}
	}
	for _, s := range v.group {
		v.batch.gone = append(v.batch.gone, s.gone...)
		if s.last {
			v.batch.done = append(v.batch.done, s.path)
		}
	}
	v.group, v.size = nil, 0
	return v.commitIfFull(ctx)
}

func (v *vectoriser) commitIfFull(ctx context.Context) error {
	if len(v.batch.put)+len(v.batch.gone) < v.commitAt {
		return nil
	}
	v.commitAt = min(2*v.commitAt, embedsPerCommit)
	return v.commit(ctx)
}

// embed adds records to the batch: with their vectors, or as set aside.
func (v *vectoriser) embed(ctx context.Context, records []store.Record) error {
	dimension := embed.Bare(v.w.m.embedder.Embedder).Dimension()
	if v.w.vectors != nil {
		dimension = v.w.vectors.Dimension()
	}
	vectors, failed, err := v.w.m.embedder.records(ctx, records, dimension)
	if err != nil {
		return err
	}
	for i, r := range records {
		if reason, isFailed := failed[i]; isFailed {
			v.batch.failed = append(v.batch.failed, failedRecord{r, reason})
			v.batch.gone = append(v.batch.gone, r.ID) // it may be that of an earlier text
			continue
		}
		if err := v.ensureVectors(ctx, len(vectors[i])); err != nil {
			return err
		}
		r.Vector = vectors[i]
		v.batch.put = append(v.batch.put, r)
	}
	return nil
}

// ensureVectors opens the vector index once its dimension is known.
func (v *vectoriser) ensureVectors(ctx context.Context, dimension int) error {
	w := v.w
	if w.vectors != nil {
		return nil
	}
	w.manifest.Dimension = dimension
	w.manifest.Engine = w.m.options.Engine.Name
	w.manifest.Embedder = w.m.options.Embedder.Fingerprint()
	vectors, err := w.m.openVectors(ctx, w.folder, w.manifest, nil)
	if err != nil {
		return err
	}
	w.vectors = vectors
	w.opened = append(w.opened, vectors)
	records, err := vectors.Count(ctx)
	if err != nil {
		return err
	}
	v.wasEmpty = records == 0
	return w.manifest.save(w.folder)
}

// commitRest works even after ctx has ended.
func (v *vectoriser) commitRest(ctx context.Context) error {
	if ctx.Err() != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
		defer stop()
	}
	return v.commit(ctx)
}

// commit commits the batch, then marks it in the manifest.
func (v *vectoriser) commit(ctx context.Context) error {
	w, batch := v.w, &v.batch
	if len(batch.done)+len(batch.put)+len(batch.failed) == 0 {
		return nil
	}
	if w.vectors != nil {
		if err := storeBatch(ctx, w.vectors, batch); err != nil {
			w.vectors.Discard()
			return err
		}
	}
	w.report.Embedded += len(batch.put)
	for _, r := range batch.put {
		e := w.manifest.Documents[r.Path]
		e.Partly = min(e.Partly+1, e.Chunks)
		w.manifest.Documents[r.Path] = e
	}
	w.noteFailed(batch.failed)
	for _, path := range batch.done {
		e := w.manifest.Documents[path]
		e.Pending, e.Partly = false, 0
		w.manifest.Documents[path] = e
	}
	*batch = vectorBatch{}
	return w.manifest.save(w.folder)
}

func storeBatch(ctx context.Context, vectors store.VectorIndex, batch *vectorBatch) error {
	if err := vectors.Put(ctx, batch.put); err != nil {
		return err
	}
	if err := vectors.Delete(ctx, batch.gone); err != nil {
		return err
	}
	return vectors.Commit(ctx)
}
