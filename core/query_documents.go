package core

import (
	"context"
	"fmt"
	"slices"

	"github.com/memcore/memcore/store"
)

// Find returns a chunk without a score. Errors wrap ErrNotIndexed.
func (m *Manager) Find(ctx context.Context, id string) (MemoryHit, error) {
	var found *store.Record
	err := m.eachDocument(ctx, func(_ string, _ entry, records []store.Record) {
		if i := slices.IndexFunc(records, func(r store.Record) bool { return r.ID == id }); i >= 0 {
			found = &records[i]
		}
	})
	if err == nil && found == nil {
		err = fmt.Errorf("chunk %s is %w", id, ErrNotIndexed)
	}
	if err != nil {
		return MemoryHit{}, err
	}
	return hitOf(candidateOf(*found), 0, false), nil
}

// Chunks returns a document's chunks, without scores. Errors wrap ErrNotIndexed.
func (m *Manager) Chunks(ctx context.Context, path string) ([]MemoryHit, error) {
	e, records, err := m.allOf(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	records = withoutStatements(records)
	hits := make([]MemoryHit, len(records))
	for i, r := range records {
		hits[i] = hitOf(candidateOf(r), 0, false)
		hits[i].Gone = e.Gone
	}
	return hits, nil
}

// document returns a document's records in order, without statements.
func (m *indexer) document(ctx context.Context, path string) ([]store.Record, error) {
	_, records, err := m.allOf(ctx, path)
	return withoutStatements(records), err
}

// allOf also returns statements.
func (m *indexer) allOf(ctx context.Context, path string) (entry, []store.Record, error) {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return entry{}, nil, ErrNotIndexed
	}
	if err != nil {
		return entry{}, nil, err
	}
	defer current.release()
	e, known := current.manifest.find(path)
	if !known {
		return entry{}, nil, ErrNotIndexed
	}
	records, err := current.keywords.Document(ctx, path)
	return e, records, err
}

// eachDocument calls do for each document, ordered by path, without statements.
func (m *indexer) eachDocument(ctx context.Context, do func(path string, e entry, records []store.Record)) error {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer current.release()
	return current.eachOf(ctx, current.manifest.paths(), func(path string, records []store.Record) {
		do(path, current.manifest.of(path), withoutStatements(records))
	})
}

// inBulk is how many documents are read at once.
const inBulk = 256

// eachOf calls do with the records of documents, in their order.
func (v *view) eachOf(ctx context.Context, paths []string, do func(path string, records []store.Record)) error {
	read := func(paths []string) (map[string][]store.Record, error) {
		records, err := v.keywords.Document(ctx, paths[0])
		return map[string][]store.Record{paths[0]: records}, err
	}
	n := 1
	if bulk, ok := v.keywords.(store.BulkReader); ok {
		read, n = func(paths []string) (map[string][]store.Record, error) { return bulk.Documents(ctx, paths) }, inBulk
	}
	for some := range slices.Chunk(paths, n) {
		if err := ctx.Err(); err != nil {
			return err
		}
		records, err := read(some)
		if err != nil {
			return fmt.Errorf("%s: %w", some[0], err)
		}
		for _, path := range some {
			do(path, records[path])
		}
	}
	return nil
}

func withoutStatements(records []store.Record) []store.Record {
	return slices.DeleteFunc(slices.Clone(records), func(r store.Record) bool { return r.Kind == KindStatement })
}
