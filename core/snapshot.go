package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

const (
	keywordFolder = "keywords"
	vectorFolder  = "vectors"
)

// A snapshot is one generation of the index as a call sees it.
type snapshot struct {
	number   uint64
	folder   string
	stamp    stamp
	manifest *manifest // never changed once here
	*indexes
}

// indexes are the open indexes of a generation. They follow commits by themselves, so they serve
// under many manifests. The Manager holds one reference, every running call another; the last one
// closes them.
type indexes struct {
	keywords  store.KeywordIndex
	vectors   store.VectorIndex // nil if there are none, or, with noVectors, if they cannot be used
	noVectors error

	references atomic.Int64
}

// acquire returns the current snapshot; the caller releases it. Errors: generation.ErrNone if
// nothing was ever indexed, ErrClosed, and what makes the index unreadable.
func (m *Manager) acquire(ctx context.Context) (snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return snapshot{}, ErrClosed
	}
	if err := m.refresh(ctx); err != nil {
		return snapshot{}, err
	}
	m.current.references.Add(1)
	return m.current, nil
}

// refresh makes m.current what is on disk now.
func (m *Manager) refresh(ctx context.Context) error {
	err := m.view(ctx)
	if errors.Is(err, generation.ErrNone) && m.lost() {
		return fmt.Errorf("%w: the file of %s that names the current generation is gone", store.ErrCorrupt, m.options.Folder)
	}
	return err
}

// lost tells whether there is a whole index that nothing names. One that is being made for the first time is not whole.
func (m *Manager) lost() bool {
	entries, _ := os.ReadDir(m.options.Folder) // none if it is not there
	return slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		if !entry.IsDir() {
			return false
		}
		known, err := readManifest(filepath.Join(m.options.Folder, entry.Name()))
		return err == nil && known.Complete
	})
}

func (m *Manager) view(ctx context.Context) error {
	return m.folder.View(func(n uint64, path string) error {
		now, err := stampOf(path)
		if err != nil {
			return err
		}
		known := m.current.indexes != nil && m.current.number == n
		if known && m.current.stamp == now {
			return nil
		}
		next := snapshot{number: n, folder: path, stamp: now}
		if next.manifest, err = readManifest(path); err != nil {
			return err
		}
		if known && m.current.serves(next.manifest) {
			next.indexes = m.current.indexes
			m.current = next
			return nil
		}
		if next.indexes, err = m.openIndexes(ctx, path, next.manifest); errors.Is(err, errMoved) {
			return m.refresh(ctx)
		}
		if err != nil {
			return err
		}
		m.dropCurrent()
		m.current = next
		return nil
	})
}

// serves tells whether the open indexes are all there are under a newer manifest.
func (x *indexes) serves(newer *manifest) bool {
	return x.vectors != nil || newer.Dimension == 0 && x.noVectors == nil
}

func (m *Manager) dropCurrent() error {
	if m.current.indexes == nil {
		return nil
	}
	old := m.current
	m.current = snapshot{}
	return old.release()
}

func (m *Manager) openIndexes(ctx context.Context, path string, manifest *manifest) (*indexes, error) {
	x := &indexes{}
	x.references.Store(1)
	var err error
	if x.keywords, err = m.options.Engine.Keywords(ctx, filepath.Join(path, keywordFolder)); err != nil {
		return nil, err
	}
	x.vectors, x.noVectors = m.openVectors(ctx, path, manifest)
	if err := x.holdAll(ctx, path, manifest); err != nil {
		return nil, errors.Join(err, x.release())
	}
	return x, nil
}

// holdAll makes sure that the indexes have as many records as the manifest says at least: an index whose files are gone is an empty one.
func (x *indexes) holdAll(ctx context.Context, path string, manifest *manifest) error {
	words, vectors := 0, 0
	for _, e := range manifest.Documents {
		if e.Unsure {
			continue
		}
		words += e.Chunks
		if !e.Pending {
			vectors += e.Chunks
		}
	}
	n, err := x.keywords.Count(ctx)
	if err == nil && n < words {
		err = fmt.Errorf("%s: %w: %d records, want %d", filepath.Join(path, keywordFolder), store.ErrCorrupt, n, words)
	}
	if err == nil && x.vectors != nil {
		if n, err = x.vectors.Count(ctx); err == nil && n < vectors {
			err = fmt.Errorf("%s: %w: %d records, want %d", filepath.Join(path, vectorFolder), store.ErrCorrupt, n, vectors)
		}
	}
	if err == nil || !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	if now, readErr := readManifest(path); readErr == nil && !now.Updated.Equal(manifest.Updated) {
		return errMoved
	}
	return err
}

// errMoved means that a writer has changed an index while it was opened.
var errMoved = errors.New("the index has changed meanwhile")

// openVectors returns the vectors of a generation; neither vectors nor an error if it has none yet.
func (m *Manager) openVectors(ctx context.Context, path string, manifest *manifest) (store.VectorIndex, error) {
	if m.options.Embedder == nil || manifest.Dimension == 0 {
		return nil, nil
	}
	if want := m.options.Embedder.Fingerprint(); manifest.Embedder != want {
		return nil, fmt.Errorf("vectors were made by %s, the embedder is now %s: index again", manifest.Embedder, want)
	}
	if manifest.Engine != m.options.Engine.Name {
		return nil, fmt.Errorf("vectors are kept by the engine %s, this is %s: index again", manifest.Engine, m.options.Engine.Name)
	}
	vectors, err := m.options.Engine.Vectors(ctx, filepath.Join(path, vectorFolder), manifest.Dimension)
	if err != nil {
		return nil, err // whatever an engine returns beside its error is no index
	}
	return vectors, nil
}

func (x *indexes) release() error {
	if x.references.Add(-1) > 0 {
		return nil
	}
	err := x.keywords.Close()
	if x.vectors != nil {
		err = errors.Join(err, x.vectors.Close())
	}
	return err
}

// stateOf says what an index can answer that was opened, or could not be.
func stateOf(err error) State {
	switch {
	case err == nil:
		return StateReady
	case errors.Is(err, generation.ErrNone):
		return StateMissing
	case errors.Is(err, store.ErrNewer):
		return StateNewer
	default:
		return StateDamaged
	}
}
