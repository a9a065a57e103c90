package core

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/memcore/memcore/store"
)

// vectorise brings the vectors in step with the keyword index, document by document, newest first. It
// can stop at any time and be repeated. It stops without error when deadline (if any) has passed; an
// error of the embedder leaves the documents pending.
func (w *writer) vectorise(ctx context.Context, deadline time.Time) error {
	pending := w.pendingDocuments()
	_, total := w.manifest.chunks()
	done := 0
	var batch vectorBatch
	for _, path := range pending {
		if !deadline.IsZero() && time.Now().After(deadline) {
			break
		}
		step := func(n int) { done += n; w.progress(Progress{Stage: "embed", Done: done, Total: total, Path: path}) }
		if err := w.vectoriseDocument(ctx, path, &batch, step); err != nil {
			return errors.Join(err, w.keepVectors(ctx, &batch))
		}
		if len(batch.put)+len(batch.gone) >= embedsPerCommit {
			if err := w.commitVectors(ctx, &batch); err != nil {
				return err
			}
		}
	}
	return w.keepVectors(ctx, &batch)
}

// pendingDocuments are the paths of documents whose vectors are behind, newest first.
func (w *writer) pendingDocuments() []string {
	var paths []string
	for path, e := range w.manifest.Documents {
		if e.Pending {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int {
		return cmp.Or(w.manifest.Documents[b].ModTime.Compare(w.manifest.Documents[a].ModTime), cmp.Compare(a, b))
	})
	return paths
}

// A vectorBatch is what is committed together.
type vectorBatch struct {
	put  []store.Record
	gone []string
	done []string // documents that are complete with this batch
}

// vectoriseDocument adds to batch what turns the vectors of a document into those of its records in
// the keyword index. If the embedder fails midway, what it has made is in batch.
func (w *writer) vectoriseDocument(ctx context.Context, path string, batch *vectorBatch, step func(int)) error {
	want, err := w.keywords.Document(ctx, path)
	if err != nil {
		return err
	}
	var have []store.Record
	if w.vectors != nil && !w.begun {
		if have, err = w.vectors.Document(ctx, path); err != nil {
			return err
		}
	}
	put, gone := difference(have, want)
	step(len(want) - len(put))
	for records := range slices.Chunk(put, chunksPerEmbed) {
		if err := w.embed(ctx, records); err != nil {
			return err
		}
		batch.put = append(batch.put, records...)
		step(len(records))
	}
	batch.gone = append(batch.gone, gone...)
	batch.done = append(batch.done, path)
	return nil
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
	for _, path := range batch.done {
		e := w.manifest.Documents[path]
		e.Pending = false
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
