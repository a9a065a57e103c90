package core

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/memcore/memcore/store"
)

// ErrElsewhere is returned by what would change or compare the index of a Manager over
// Options.Contents: Index, Watch, Forget and the like, and Check.
var ErrElsewhere = errors.New("the index is kept elsewhere")

// Contents are what a memory that is kept elsewhere holds at one moment.
type Contents struct {
	// Layers have no path in common.
	Layers []*Layer
	// Keywords is required. If it has a method LanguageOf(text string) string, as keyword.Index
	// has, questions across languages use it.
	Keywords store.KeywordSearch
	// Vectors are nil if there are none.
	Vectors store.VectorSearch
	// Embedder is the fingerprint of the embedder that made Vectors.
	Embedder string
	// Scale is that of the embedder's cosines (MeasureScale), if it was measured.
	Scale []float64
	// Digests returns Cut.Digest of documents by their paths. It is asked for those that have one;
	// a digest that is missing costs only itself.
	Digests func(ctx context.Context, paths []string) (map[string][]byte, error)
	// Updated is when the contents last changed.
	Updated time.Time
	// Release is called once, when the question is answered; may be nil.
	Release func()
}

// Indexed is what is known of a document beside its records. As JSON it can be kept; its fields are
// of this package alone.
type Indexed struct {
	entry entry
	said  Said
	size  int // as JSON, if it was read
}

type indexedJSON struct {
	Entry entry `json:"entry"`
	Said  Said  `json:"said,omitzero"`
}

// MarshalJSON implements json.Marshaler.
func (i Indexed) MarshalJSON() ([]byte, error) { return json.Marshal(indexedJSON{i.entry, i.said}) }

// UnmarshalJSON implements json.Unmarshaler.
func (i *Indexed) UnmarshalJSON(text []byte) error {
	var read indexedJSON
	err := json.Unmarshal(text, &read)
	*i = Indexed{read.Entry, read.Said, len(text)}
	return err
}

// WithPending says how many records of the document have no vector yet: of a new Cut, all.
func (i Indexed) WithPending(records int) Indexed {
	i.entry.Pending, i.entry.Partly = records > 0, max(i.entry.Chunks-records, 0)
	return i
}

// A Layer is a set of documents, such as those of a team. It never changes, so that any number of
// Contents share it.
type Layer struct {
	base *documents
	over map[string]*Indexed // what has changed since; nil is gone

	documents, chunks, pending int
	bytes                      int64
}

// documents are shared by a layer and those that With makes of it. What is asked of all of them is
// worked out once.
type documents struct {
	byPath map[string]*Indexed
	named  func() []string        // as namedIn has them
	said   func() map[string]Said // of logs
	times  func() []time.Time     // as fileTime has them
}

func newDocuments(byPath map[string]*Indexed) *documents {
	return &documents{
		byPath: byPath,
		named:  sync.OnceValue(func() []string { return namedIn(maps.Keys(byPath)) }),
		said: sync.OnceValue(func() map[string]Said {
			all := map[string]Said{}
			for path, d := range byPath {
				d.addSaid(path, all)
			}
			return all
		}),
		times: sync.OnceValue(func() (all []time.Time) {
			for _, d := range byPath {
				if at, ok := d.entry.fileTime(); ok {
					all = append(all, at)
				}
			}
			return all
		}),
	}
}

func (i *Indexed) addSaid(path string, all map[string]Said) {
	if len(i.said.Standing)+len(i.said.Failures) > 0 {
		all[path] = i.said
	}
}

// NewLayer returns a layer of documents by their paths.
func NewLayer(byPath map[string]Indexed) *Layer {
	kept := make(map[string]*Indexed, len(byPath))
	l := &Layer{base: newDocuments(kept)}
	for path, d := range byPath {
		kept[path] = &d
		l.count(path, &d, 1)
	}
	return l
}

// minOver and a tenth of a layer are how many changes are kept apart, so that a change costs no
// copy of all.
const minOver = 64

// With returns a layer without some paths, and with other documents. It costs little for few
// changes of a large layer.
func (l *Layer) With(gone []string, more map[string]Indexed) *Layer {
	next := &Layer{base: l.base, over: maps.Clone(l.over), documents: l.documents, chunks: l.chunks, pending: l.pending, bytes: l.bytes}
	if next.over == nil {
		next.over = map[string]*Indexed{}
	}
	for _, path := range gone {
		next.set(path, nil)
	}
	for path, d := range more {
		next.set(path, &d)
	}
	if len(next.over) > max(minOver, len(next.base.byPath)/10) {
		next.base, next.over = newDocuments(maps.Collect(next.all)), nil
	}
	return next
}

func (l *Layer) set(path string, d *Indexed) {
	l.count(path, l.of(path), -1)
	l.count(path, d, 1)
	l.over[path] = d
}

func (l *Layer) count(path string, d *Indexed, by int) {
	const head = 500 // of a document's entry in maps
	if d != nil {
		l.bytes += int64(by) * int64(head+len(path)+d.size)
		l.documents, l.chunks, l.pending = l.documents+by, l.chunks+by*d.entry.Chunks, l.pending+by*d.entry.pending()
	}
}

// Bytes is about how much memory the layer takes, if its documents were read as JSON.
func (l *Layer) Bytes() int64 { return l.bytes }

// of returns a document, or nil.
func (l *Layer) of(path string) *Indexed {
	if d, changed := l.over[path]; changed {
		return d
	}
	return l.base.byPath[path]
}

func (l *Layer) all(yield func(string, *Indexed) bool) {
	for path, d := range l.base.byPath {
		if _, changed := l.over[path]; !changed && !yield(path, d) {
			return
		}
	}
	for path, d := range l.over {
		if d != nil && !yield(path, d) {
			return
		}
	}
}

// named returns the documents of namedIn.
func (l *Layer) named() (all []string) {
	for _, path := range l.base.named() {
		if _, changed := l.over[path]; !changed {
			all = append(all, path)
		}
	}
	for _, path := range namedIn(maps.Keys(l.over)) {
		if l.over[path] != nil {
			all = append(all, path)
		}
	}
	return all
}

// addSaid adds what the logs of the layer say.
func (l *Layer) addSaid(all map[string]Said) {
	for path, one := range l.base.said() {
		if _, changed := l.over[path]; !changed {
			all[path] = one
		}
	}
	for path, d := range l.over {
		if d != nil {
			d.addSaid(path, all)
		}
	}
}

// countFiles is manifest.countFiles of the layer.
func (l *Layer) countFiles(when func(time.Time) bool) (files, then int) {
	count := func(at time.Time, by int) {
		if files += by; when(at) {
			then += by
		}
	}
	countOf := func(d *Indexed, by int) {
		if d == nil {
			return
		}
		if at, ok := d.entry.fileTime(); ok {
			count(at, by)
		}
	}
	for _, at := range l.base.times() {
		count(at, 1)
	}
	for path, d := range l.over {
		countOf(l.base.byPath[path], -1)
		countOf(d, 1)
	}
	return files, then
}

// acquireContents is acquire of Options.Contents.
func (m *indexer) acquireContents(ctx context.Context) (snapshot, error) {
	if m.closed.Load() {
		return snapshot{}, ErrClosed
	}
	c, err := m.options.Contents(ctx)
	if err != nil {
		return snapshot{}, err
	}
	if c.Release == nil {
		c.Release = func() {}
	}
	return snapshot{m.viewOf(c), c.Release}, nil
}

func (m *indexer) viewOf(c Contents) *view {
	known := &manifest{layers: c.Layers, Embedder: c.Embedder, Chunking: m.cutter.Fingerprint(), Scale: c.Scale, Complete: true, Updated: c.Updated}
	x := &indexes{keywords: c.Keywords, asked: m.asked, digests: &m.digests}
	if c.Vectors != nil {
		known.Dimension = c.Vectors.Dimension()
		former := m.formerOf(known)
		if x.noVectors = m.madeByOther(known, former); x.noVectors == nil && m.options.Embedder != nil {
			x.vectors = c.Vectors
			x.answerBy(former)
		}
	}
	v := newView(known, x)
	v.readDigests = c.Digests
	v.said = sync.OnceValues(func() (map[string]Said, error) {
		all := map[string]Said{}
		for _, l := range c.Layers {
			l.addSaid(all)
		}
		return all, nil
	})
	v.named = sync.OnceValue(func() (all []string) {
		for _, l := range c.Layers {
			all = append(all, l.named()...)
		}
		return all
	})
	return v
}
