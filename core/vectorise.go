package core

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// perTurn is how many chunks of a document are embedded before it is the others' turn: a huge old log
// must not keep small notes waiting, nor another log. Each turn is twice as long as the one before.
const perTurn = 256

// A vectoriser brings the vectors in step with the keyword index, in the order of pendingDocuments. It
// can stop at any time and be repeated.
type vectoriser struct {
	w        *writer
	group    []portion // of documents, to be embedded together
	size     int       // chunks in group
	batch    vectorBatch
	commitAt int // chunks; grows, so that the first vectors are there early
	progress Progress
}

// A portion is what of a document is embedded at one time.
type portion struct {
	path string
	put  []store.Record
	gone []string
	last bool // with it the document's vectors agree with the keyword index
}

// A vectorBatch is what is committed together.
type vectorBatch struct {
	put  []store.Record
	gone []string
	done []string // documents that are complete with this batch
}

// vectorise stops without error when deadline (if any) has passed; an error of the embedder leaves
// documents pending, and what it has made so far is kept.
func (w *writer) vectorise(ctx context.Context, deadline time.Time) error {
	_, pending := w.manifest.chunks()
	v := vectoriser{w: w, commitAt: firstEmbedsPerCommit, progress: Progress{Stage: "embed", Total: pending}}
	late := func() bool { return !deadline.IsZero() && time.Now().After(deadline) }
	err := v.turns(ctx, w.pendingDocuments(), late)
	return errors.Join(err, w.keepVectors(ctx, &v.batch))
}

// turns goes through documents until none of them has anything left to embed.
func (v *vectoriser) turns(ctx context.Context, paths []string, late func() bool) error {
	for limit := perTurn; len(paths) > 0; limit *= 2 {
		long, err := v.pass(ctx, paths, late, limit)
		if err == nil {
			err = v.finish(ctx)
		}
		if err == nil && len(long) > 0 {
			err = v.w.commitVectors(ctx, &v.batch) // the next pass compares with what is there
		}
		if err != nil {
			return err
		}
		v.w.begun, paths = false, long
	}
	return nil
}

// pass goes through documents and returns those that had more than limit chunks to embed.
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

// portionOf finds out what turns the vectors of a document into those of its records in the keyword index.
func (v *vectoriser) portionOf(ctx context.Context, path string, limit int) (portion, error) {
	want, err := v.w.keywords.Document(ctx, path)
	if err != nil {
		return portion{}, err
	}
	var have []store.Record
	if v.w.vectors != nil && !v.w.begun {
		if have, err = v.w.vectors.Document(ctx, path); err != nil {
			return portion{}, err
		}
	}
	s := portion{path: path, last: true}
	s.put, s.gone = difference(have, want)
	v.progress.Total += len(s.put) - v.w.manifest.Documents[path].pending() // which was an estimate
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

// step says that so many chunks have got a vector.
func (v *vectoriser) step(path string, made int) {
	v.progress.Path, v.progress.Done = path, v.progress.Done+made
	v.progress.Total = max(v.progress.Total, v.progress.Done)
	v.w.progress(v.progress)
}

// finish embeds the group, and commits whenever there is enough. If the embedder fails, what it has made
// is in the batch.
func (v *vectoriser) finish(ctx context.Context) error {
	var records []store.Record
	for _, s := range v.group {
		records = append(records, s.put...)
	}
	for some := range slices.Chunk(records, chunksPerEmbed) {
		if err := v.w.embed(ctx, some); err != nil {
			v.group, v.size = nil, 0
			return err
		}
		v.batch.put = append(v.batch.put, some...)
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
	return v.w.commitVectors(ctx, &v.batch)
}

// embed fills in the vectors of records: those that came with them, the rest from the embedder.
func (w *writer) embed(ctx context.Context, records []store.Record) error {
	var texts []string
	var missing []int
	for i, r := range records {
		if records[i].Vector = w.given[r.ID]; records[i].Vector == nil {
			texts, missing = append(texts, embeddingText(r)), append(missing, i)
		}
	}
	if len(missing) > 0 {
		vectors, err := w.m.embedDocuments(ctx, texts)
		if err != nil {
			return err
		}
		for i, at := range missing {
			records[at].Vector = vectors[i]
		}
	}
	return w.ensureVectors(ctx, len(records[0].Vector))
}

// keepVectors commits what was made so far, also when the run's own ctx has ended.
func (w *writer) keepVectors(ctx context.Context, batch *vectorBatch) error {
	if ctx.Err() != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
		defer stop()
	}
	return w.commitVectors(ctx, batch)
}

// commitVectors makes the batch durable, then says so in the manifest.
func (w *writer) commitVectors(ctx context.Context, batch *vectorBatch) error {
	if len(batch.done)+len(batch.put) == 0 {
		return nil
	}
	if w.vectors != nil {
		if err := w.storeVectors(ctx, batch); err != nil {
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
	for _, path := range batch.done {
		e := w.manifest.Documents[path]
		e.Pending, e.Partly = false, 0
		w.manifest.Documents[path] = e
	}
	*batch = vectorBatch{}
	return w.manifest.save(w.folder)
}

func (w *writer) storeVectors(ctx context.Context, batch *vectorBatch) error {
	if err := w.vectors.Put(ctx, batch.put); err != nil {
		return err
	}
	if err := w.vectors.Delete(ctx, batch.gone); err != nil {
		return err
	}
	return w.vectors.Commit(ctx)
}
