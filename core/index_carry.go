package core

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/store"
)

// carriedPerCommit bounds memory: a vector takes 1.5 KB.
const carriedPerCommit = 16 * embedsPerCommit

// A carrying moves the vectors of the index in use into one that is built anew for another engine,
// so that nothing is embedded again. What is out of date goes in the run that follows, document by
// document.
type carrying struct {
	from  store.VectorIndex // nil if there is nothing to move
	known *manifest
	paths map[string]bool // of what was moved
	log   *slog.Logger
}

// beginCarrying opens the former engine's vectors. Without them the run embeds, which is no error.
func (m *indexer) beginCarrying(ctx context.Context, options IndexOptions) *carrying {
	c := &carrying{paths: map[string]bool{}, log: m.log}
	if options.Rebuild || m.options.Engines == nil || m.options.Embedder == nil {
		return c
	}
	current, err := m.acquire(ctx)
	if err != nil {
		return c
	}
	defer current.release()
	known := current.manifest
	engine, isBuilt := m.options.Engines(known.Engine)
	if !isBuilt || known.Engine == m.options.Engine.Name || known.Dimension == 0 ||
		known.Embedder != m.options.Embedder.Fingerprint() || known.Chunking != m.cutter.Fingerprint() {
		return c
	}
	if c.from, err = engine.Vectors(ctx, filepath.Join(current.folder, vectorFolder), known.Dimension); err != nil {
		m.log.Warn("the vectors are made again, as they cannot be moved", "engine", known.Engine, "error", err)
		c.from = nil
	}
	c.known = known
	return c
}

// prepare lets an empty generation begin with vectors.
func (c *carrying) prepare(blank *manifest) {
	if c.from != nil {
		blank.Dimension, blank.Embedder = c.known.Dimension, c.known.Embedder
	}
}

// into moves all vectors. A former index that cannot be read to its end has given what it could.
func (c *carrying) into(ctx context.Context, to store.VectorIndex) (err error) {
	from, reads := c.from.(store.VectorReader)
	if !reads || to == nil {
		return nil
	}
	var batch []store.Record
	commit := func() error {
		if err = storeBatch(ctx, to, &vectorBatch{put: batch}); err != nil {
			to.Discard()
		}
		batch = batch[:0]
		return err
	}
	unread := from.Each(ctx, func(r store.Record) error {
		r.Vector = slices.Clone(r.Vector)
		batch, c.paths[r.Path] = append(batch, r), true
		if len(batch) < carriedPerCommit {
			return nil
		}
		return commit()
	})
	if err == nil && ctx.Err() == nil {
		err = commit()
	}
	if unread != nil && err == nil && ctx.Err() == nil {
		c.log.Warn("not all vectors could be moved", "engine", c.known.Engine, "error", unread)
		return nil
	}
	return errors.Join(err, ctx.Err())
}

// finish deletes what was moved of documents that are gone.
func (c *carrying) finish(ctx context.Context, folder string, to store.VectorIndex) error {
	if c.from == nil || to == nil {
		return nil
	}
	now, err := readManifest(folder)
	if err != nil {
		return err
	}
	batch := vectorBatch{}
	for path := range c.paths {
		if _, there := now.Documents[path]; there {
			continue
		}
		records, err := to.Document(ctx, path)
		if err != nil {
			return err
		}
		for _, r := range records {
			batch.gone = append(batch.gone, r.ID)
		}
	}
	return storeBatch(ctx, to, &batch)
}

func (c *carrying) close() {
	if c.from == nil {
		return
	}
	if err := c.from.Close(); err != nil {
		c.log.Warn("the vectors of the former engine", "error", err)
	}
}
