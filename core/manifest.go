package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// manifestFormat changes when an index of an earlier release cannot be used any more.
//
//	1: first.
//	2: in a frame with a checksum.
const manifestFormat = 2

const manifestFile = "manifest.json"

// A manifest says which documents an index generation holds, and with what it was made. It is
// written after the indexes, so that whatever a crash left undone is done again: every step of
// indexing can be repeated.
type manifest struct {
	Generation string    `json:"generation"`          // the folder's name: the generation before is still there, too
	Engine     string    `json:"engine"`              // of the vectors; "" if made without
	Embedder   string    `json:"embedder,omitempty"`  // fingerprint; "" if made without
	Dimension  int       `json:"dimension,omitempty"` // 0 until the first vector
	Chunking   string    `json:"chunking"`
	Scale      []float64 `json:"scale,omitempty"` // of the embedder's cosines, where it had to be measured
	Complete   bool      `json:"complete"`        // every document was read at least once
	Updated    time.Time `json:"updated"`

	Documents map[string]entry `json:"documents"` // by Document.Path

	SharedAt  string       `json:"sharedAt,omitempty"`  // Name of the Shared that the rest is about
	Shared    store.Cursor `json:"shared,omitempty"`    // how much of the other memories is here
	Pulled    time.Time    `json:"pulled,omitzero"`     // when they were last asked
	Published string       `json:"published,omitempty"` // Options.Publish with which the others know all there is; "" if they do not
}

// A frame is what the file holds, in this format and all later ones, so that a release knows a newer manifest from a damaged one.
type frame struct {
	Format   int             `json:"format"`
	Checksum *uint32         `json:"checksum"` // of the format's number and Content
	Content  json.RawMessage `json:"content"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func frameSum(format int, content []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(strconv.Itoa(format)), castagnoli), castagnoli, content)
}

// An entry is what the manifest keeps of a document.
type entry struct {
	Source  string    `json:"source"`
	File    string    `json:"file,omitempty"`
	Kind    string    `json:"kind"`
	Scope   string    `json:"scope"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	Changed time.Time `json:"changed,omitzero"` // as source.Document has it
	// Unsure means that the document must be read again: its chunks may be half written, or it
	// changed so shortly before it was read that a later change may not show in its ModTime.
	Unsure bool   `json:"unsure,omitempty"`
	Hash   string `json:"hash,omitempty"` // of the bytes of a Markdown document
	Chunks int    `json:"chunks"`
	// Pending means that the vectors do not agree with the keyword index yet.
	Pending bool `json:"pending,omitempty"`
	// Partly is how many chunks of a Pending document have a vector all the same, about.
	Partly int             `json:"partly,omitempty"`
	Resume source.Position `json:"resume,omitzero"`
	// Request is the title of the request before Resume, of an agent's log: without secrets.
	Request string `json:"request,omitempty"`
	// Turns counts those of an agent's log by why they have no record, "" for those that have;
	// TurnsBefore are those of them before Resume.
	Turns       map[string]int `json:"turns,omitempty"`
	TurnsBefore map[string]int `json:"turnsBefore,omitempty"`
}

func (e entry) unchanged(doc source.Document) bool {
	return !e.Unsure && e.Size == doc.Size && e.ModTime.Equal(doc.ModTime) && e.Changed.Equal(doc.Changed) && e.Scope == doc.Scope && e.Kind == doc.Kind
}

// rewritten tells whether a document that looks the same by size and time was changed all the same, so that nothing of it is known to
// be as it was.
func (e entry) rewritten(doc source.Document) bool {
	return e.Size == doc.Size && e.ModTime.Equal(doc.ModTime) && !e.Changed.Equal(doc.Changed)
}

func (m *manifest) chunks() (all, pending int) {
	for _, e := range m.Documents {
		all += e.Chunks
		pending += e.pending()
	}
	return all, pending
}

// pending is how many chunks of a document have no vector, about.
func (e entry) pending() int {
	if !e.Pending {
		return 0
	}
	return max(e.Chunks-e.Partly, 0)
}

// readManifest returns the manifest of a generation. Errors wrap fs.ErrNotExist, store.ErrFormat,
// store.ErrNewer or store.ErrCorrupt.
func readManifest(generation string) (*manifest, error) {
	path := filepath.Join(generation, manifestFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var read frame
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("%s: %w: %v", path, store.ErrCorrupt, err)
	}
	switch sum := read.Checksum; {
	case sum != nil && *sum != frameSum(read.Format, read.Content):
		return nil, fmt.Errorf("%s: %w: wrong checksum", path, store.ErrCorrupt)
	case read.Format != manifestFormat:
		return nil, store.OtherFormat(path, read.Format, manifestFormat)
	case sum == nil:
		return nil, fmt.Errorf("%s: %w: no checksum", path, store.ErrCorrupt)
	}
	m := &manifest{}
	if err := json.Unmarshal(read.Content, m); err != nil {
		return nil, fmt.Errorf("%s: %w: %v", path, store.ErrCorrupt, err)
	}
	if m.Generation != filepath.Base(generation) {
		return nil, fmt.Errorf("%s: %w: it is of generation %q", path, store.ErrCorrupt, m.Generation)
	}
	if m.Documents == nil {
		m.Documents = map[string]entry{}
	}
	return m, nil
}

// EngineOf returns the name of the engine that keeps, or will keep, the vectors of the index in folder;
// "" if there is no index, or one that was made without vectors. It opens no index, so it also answers
// for an engine that this program does not have. Errors are those of a manifest that cannot be read,
// and wrap store.ErrFormat, store.ErrNewer or store.ErrCorrupt where it is the manifest's fault.
func EngineOf(folder string) (string, error) { return NewEngineReader(folder).Engine() }

// An EngineReader is EngineOf of one folder for who asks again and again: a manifest, which is as long as the memory has
// documents, is read again only if its generation, time or size is another, or its time so late that it may not tell. It is safe for
// concurrent use.
type EngineReader struct {
	folder *generation.Dir

	mu     sync.Mutex
	number uint64 // of the generation that engine is of; 0 for none yet
	stamp  stamp  // of its manifest
	engine string
}

// NewEngineReader returns the reader of the index in folder, which need not be there.
func NewEngineReader(folder string) *EngineReader {
	return &EngineReader{folder: generation.New(folder)}
}

// Engine returns what EngineOf does.
func (r *EngineReader) Engine() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var engine string
	err := r.folder.View(func(n uint64, path string) error {
		looked := time.Now()
		now, err := stampOf(path)
		if err != nil {
			return err
		}
		if n != r.number || now != r.stamp {
			known, err := readManifest(path)
			if err != nil {
				return err
			}
			engine = known.Engine
			if r.number = 0; !filetime.Doubtful(now.modTime, looked) {
				r.number, r.stamp, r.engine = n, now, engine
			}
			return nil
		}
		engine = r.engine
		return nil
	})
	if errors.Is(err, generation.ErrNone) {
		return "", nil
	}
	return engine, err
}

// save writes the manifest so that a crash leaves the old one or the new one.
func (m *manifest) save(generation string) error {
	m.Generation, m.Updated = filepath.Base(generation), time.Now().UTC()
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	data := fmt.Appendf(nil, `{"format":%d,"checksum":%d,"content":%s}`, manifestFormat, frameSum(manifestFormat, content), content)
	return beneath.Replace(generation, manifestFile, data, 0o600)
}

// A stamp tells whether a manifest on disk is still the one that was read.
type stamp struct {
	modTime time.Time
	size    int64
}

func stampOf(generation string) (stamp, error) {
	info, err := os.Stat(filepath.Join(generation, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	return stamp{modTime: info.ModTime(), size: info.Size()}, nil
}
