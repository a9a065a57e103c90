package core

import (
	"cmp"
	"context"
	"fmt"

	"github.com/memcore/memcore/store"
)

// Vectors are a memory's own chunks with their vectors. The caller closes them.
type Vectors struct {
	// Revision changes with the index.
	Revision string
	// Chunks counts all chunks of the index, also those without a vector.
	Chunks int

	from snapshot
	read store.VectorReader
}

// VectorsOf opens the vectors of a memory. Errors wrap ErrNotIndexed before the first indexing.
func VectorsOf(ctx context.Context, m *Manager) (*Vectors, error) {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return nil, ErrNotIndexed
	}
	if err != nil {
		return nil, fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	v := &Vectors{from: current}
	v.Revision = cmp.Or(current.revision, fmt.Sprintf("%d-%d-%s", current.number, current.manifest.Updated.UnixNano(), current.manifest.Embedder))
	v.Chunks, _ = current.manifest.chunks()
	v.read, _ = current.vectors.(store.VectorReader)
	return v, nil
}

// Close lets go of the index.
func (v *Vectors) Close() { v.from.release() }

// Any reports whether there are vectors.
func (v *Vectors) Any() bool { return v.read != nil }

// Each calls do with each chunk of this memory, in any order and without statements, until do
// fails. Its vector is valid until do returns.
func (v *Vectors) Each(ctx context.Context, do func(store.Record) error) error {
	if v.read == nil {
		return nil
	}
	return v.read.Each(ctx, func(r store.Record) error {
		if r.Kind == KindStatement {
			return nil
		}
		return do(r)
	})
}
