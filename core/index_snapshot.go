package core

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

const (
	keywordFolder = "keywords"
	vectorFolder  = "vectors"
)

// A snapshot is one generation, held by a call.
type snapshot struct {
	*view
	release func() // the caller calls it once
}

// A view is an open generation with one manifest.
type view struct {
	number   uint64
	folder   string
	manifest *manifest // never changed once here
	*indexes
	// readDigests is Contents.Digests.
	readDigests func(ctx context.Context, paths []string) (map[string][]byte, error)

	// All are made at the first call.
	sums   func() Sums
	listed func() []DocumentInfo
	named  func() []string
	said   func() (map[string]Said, error)
}

func newView(known *manifest, x *indexes) *view {
	return &view{manifest: known, indexes: x, sums: sync.OnceValue(known.sums), listed: sync.OnceValue(known.list)}
}

// indexes follow commits themselves, so all views of a generation share them. The last view closes
// them.
type indexes struct {
	keywords  store.KeywordSearch
	vectors   store.VectorSearch // nil if there are none, or, with noVectors, if they cannot be used
	noVectors error
	asked
	files   files // the same, of a generation
	digests *digestCache
	former  bool // vectors are another embedder's than the memory's: they answer until Index replaces them

	views int // guarded by the Manager's generations
}

// files are indexes that a writer changes. Those of Contents are none.
type files struct {
	keywords store.KeywordIndex
	vectors  store.VectorIndex // as in indexes
}

// Unchanged implements generation.Snapshot.
func (v *view) Unchanged(string) bool { return true }

// Close implements generation.Snapshot.
func (v *view) Close() error { return v.indexes.release() }

// acquire opens the current generation. Errors: generation.ErrNone before the first indexing,
// ErrClosed, and those of an unreadable index.
func (m *indexer) acquire(ctx context.Context) (snapshot, error) {
	if m.options.Contents != nil {
		return m.acquireContents(ctx)
	}
	v, release, err := m.generations.Enter(ctx)
	if errors.Is(err, generation.ErrClosed) {
		err = ErrClosed
	}
	return snapshot{v, release}, err
}

func (m *indexer) openView(ctx context.Context, last *view, n uint64, folder string) (*view, error) {
	if n == 0 && m.lost() {
		return nil, fmt.Errorf("%w: the file of %s that names the current generation is gone", store.ErrCorrupt, m.options.Folder)
	}
	if n == 0 {
		return nil, generation.ErrNone
	}
	manifest, err := readManifest(folder)
	if err != nil {
		return nil, err
	}
	v := newView(manifest, nil)
	v.number, v.folder, v.named = n, folder, sync.OnceValue(func() []string { return namedIn(manifest.names()) })
	v.said = sync.OnceValues(func() (map[string]Said, error) { return v.digests.said(v) })
	if last != nil && last.number == n && last.serves(manifest) {
		v.indexes = last.indexes
		v.views++
		return v, nil
	}
	if v.indexes, err = m.openIndexes(ctx, folder, manifest); errors.Is(err, errMoved) {
		return m.openView(ctx, last, n, folder)
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// lost reports whether a complete index lacks the file that names it.
func (m *indexer) lost() bool {
	entries, _ := os.ReadDir(m.options.Folder) // none if it is not there
	return slices.ContainsFunc(entries, func(entry os.DirEntry) bool {
		if !entry.IsDir() {
			return false
		}
		known, err := readManifest(filepath.Join(m.options.Folder, entry.Name()))
		return err == nil && known.Complete
	})
}

// serves reports whether open indexes suffice for a newer manifest.
func (x *indexes) serves(newer *manifest) bool {
	return x.vectors != nil || newer.Dimension == 0 && x.noVectors == nil
}

func (m *indexer) openIndexes(ctx context.Context, path string, manifest *manifest) (*indexes, error) {
	x := &indexes{views: 1, asked: m.asked, digests: &digestCache{}}
	var err error
	if x.files.keywords, err = m.options.Engine.Keywords(ctx, filepath.Join(path, keywordFolder)); err != nil {
		return nil, err
	}
	x.keywords = x.files.keywords
	former := m.formerOf(manifest)
	if x.files.vectors, x.noVectors = m.openVectors(ctx, path, manifest, former); x.files.vectors != nil {
		x.vectors = x.files.vectors
		x.answerBy(former)
	}
	if err := x.holdAll(ctx, path, manifest); err != nil {
		return nil, errors.Join(err, x.release())
	}
	return x, nil
}

// answerBy lets the embedder that made the vectors embed questions, if that is a former one.
func (x *indexes) answerBy(former embed.Embedder) {
	if former != nil {
		x.former, x.asked = true, asked{embedder{former}, relevance.For(former.Fingerprint())}
	}
}

// holdAll fails if the indexes hold fewer records than the manifest counts: without files an index
// opens empty.
func (x *indexes) holdAll(ctx context.Context, path string, manifest *manifest) error {
	words, vectors := 0, 0
	for _, e := range manifest.all() {
		if e.Unsure {
			continue
		}
		words += e.Chunks
		if !e.Pending {
			vectors += e.Chunks - e.SetAside.chunks()
		}
	}
	n, err := x.files.keywords.Count(ctx)
	if err == nil && n < words {
		err = fmt.Errorf("%s: %w: %d records, want %d", filepath.Join(path, keywordFolder), store.ErrCorrupt, n, words)
	}
	if err == nil && x.files.vectors != nil {
		if n, err = x.files.vectors.Count(ctx); err == nil && n < vectors {
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

// errMoved means that a writer changed the index meanwhile.
var errMoved = errors.New("the index changed while it was opened")

// openVectors opens the vectors of the embedder or the former one, which may be nil. It returns
// nil, nil for a generation without vectors.
func (m *indexer) openVectors(ctx context.Context, path string, manifest *manifest, former embed.Embedder) (store.VectorIndex, error) {
	if m.options.Embedder == nil || manifest.Dimension == 0 {
		return nil, nil
	}
	if err := m.madeByOther(manifest, former); err != nil {
		return nil, err
	}
	if manifest.Engine != m.options.Engine.Name {
		return nil, fmt.Errorf("vectors are kept by the engine %s, this is %s: index again", manifest.Engine, m.options.Engine.Name)
	}
	vectors, err := m.options.Engine.Vectors(ctx, filepath.Join(path, vectorFolder), manifest.Dimension)
	if err != nil {
		return nil, err // never an index that is a nil pointer
	}
	return vectors, nil
}

// madeByOther says why the vectors of a generation are of no use, if another embedder made them.
func (m *indexer) madeByOther(known *manifest, former embed.Embedder) error {
	if m.options.Embedder == nil || former != nil || known.Embedder == m.options.Embedder.Fingerprint() {
		return nil
	}
	if missing := embed.Missing(m.options.Embedder); missing != nil {
		return missing
	}
	return fmt.Errorf("vectors were made by %s, the embedder is now %s: index again", known.Embedder, m.options.Embedder.Fingerprint())
}

// formerOf returns another embedder whose vectors a generation has, if it is at hand.
func (m *indexer) formerOf(manifest *manifest) embed.Embedder {
	if m.options.Former == nil || m.options.Embedder == nil || manifest.Embedder == m.options.Embedder.Fingerprint() {
		return nil
	}
	return m.options.Former(manifest.Embedder)
}

func (x *indexes) release() error {
	if x.views--; x.views > 0 {
		return nil
	}
	err := x.files.keywords.Close()
	if x.files.vectors != nil {
		err = errors.Join(err, x.files.vectors.Close())
	}
	return err
}

func stateOf(err error) State {
	switch {
	case err == nil:
		return StateReady
	case errors.Is(err, generation.ErrNone):
		return StateMissing
	case errors.Is(err, store.ErrNewer):
		return StateNewer
	case errors.Is(err, ErrClosed):
		return StateClosed
	default:
		return StateDamaged
	}
}
