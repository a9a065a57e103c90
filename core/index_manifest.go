package core

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/store"
)

// manifestFormat's number grows when earlier indexes become unusable.
var manifestFormat = store.ManifestFormat{Kind: "memory", Number: 4}

// A manifest says which documents a generation holds and how it was made. Before the indexes change
// it is saved with Unsure, so that the next run repeats what a crash interrupted.
type manifest struct {
	Engine    string    `json:"engine"`              // of the vectors; "" if made without
	Embedder  string    `json:"embedder,omitempty"`  // fingerprint; "" if made without
	Dimension int       `json:"dimension,omitempty"` // 0 until the first vector
	Chunking  string    `json:"chunking"`
	Scale     []float64 `json:"scale,omitempty"`     // of the embedder's cosines, if it was measured
	Complete  bool      `json:"complete"`            // every document there was read at least once
	Chunks    int       `json:"chunks"`              // of all documents, when it was saved
	Said      string    `json:"said,omitempty"`      // hash of said.json
	Purged    int64     `json:"purgedFor,omitempty"` // forgotten.Set.Changed at the last purge
	Updated   time.Time `json:"updated"`
	// LinksChanged means that Links or the set of notes changed since Aliases were made of them.
	LinksChanged bool `json:"linksChanged,omitempty"`

	// Documents are for a writer, by Document.Path. Readers use the methods: a memory that is kept
	// elsewhere has its documents in layers.
	Documents map[string]entry `json:"documents"`
	layers    []*Layer
	// Unread are documents that could not be read, by Document.Path.
	Unread map[string]unread `json:"unread,omitempty"`
}

type entry struct {
	Source  string    `json:"source"`
	File    string    `json:"file,omitempty"`
	Kind    string    `json:"kind"`
	Scope   string    `json:"scope"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	Changed time.Time `json:"changed,omitzero"` // as source.Document has it
	// Unsure documents are read again: chunks may be half written, or ModTime too recent to show
	// later changes.
	Unsure bool `json:"unsure,omitempty"`
	// Forgotten is forgotten.Set.Changed when the document was read, Hidden how many parts of it
	// were forgotten then.
	Forgotten int64  `json:"forgotten,omitempty"`
	Hidden    int    `json:"hidden,omitempty"`
	Hash      string `json:"hash,omitempty"` // of the bytes of a Markdown document
	Chunks    int    `json:"chunks"`
	// Pending means that the vectors lag behind the keyword index.
	Pending bool `json:"pending,omitempty"`
	// Partly estimates the vectors of a Pending document, with the chunks that are set aside.
	Partly int `json:"partly,omitempty"`
	// SetAside are texts for which the embedder has no vector, by Record.Hash.
	SetAside asides `json:"setAside,omitempty"`

	Resume source.Position `json:"resume,omitzero"`
	// Session is the conversation that the document is the log of, or is in the folder of.
	Session string `json:"session,omitempty"`
	Branch  string `json:"branch,omitempty"` // as source.Document has it
	// Request is the title before Resume, without secrets.
	Request string `json:"request,omitempty"`
	// Digest is the hash of the log's digest; "" if it has none.
	Digest string `json:"digest,omitempty"`
	// Kept is what Options.Kept has of the log.
	Kept keptFile `json:"kept,omitzero"`
	// Gone means that the file of the log is gone, and its text that of Options.Kept.
	Gone bool `json:"gone,omitempty"`
	// Globs are those of a document with rules.
	Globs []string `json:"globs,omitempty"`
	// Links are those of a note whose texts say something, Aliases what others' say of it, as its
	// first record in the keyword index has them.
	Links   []noteLink `json:"links,omitempty"`
	Aliases []string   `json:"aliases,omitempty"`
	// Said is the date of a note: the one that it states (saidDate), else that of its last commit.
	Said noteDate `json:"said,omitzero"`
	// Turns counts turns by why they have no record. TurnsBefore are those before Resume.
	Turns       map[string]int `json:"turns,omitempty"`
	TurnsBefore map[string]int `json:"turnsBefore,omitempty"`
	// Unknown are the records of a log that were passed over.
	Unknown []UnknownRecords `json:"unknown,omitempty"`
}

// unchanged takes forgotten.Set.Changed: what was read before may tell what is forgotten now.
func (e entry) unchanged(doc source.Document, forgotten int64) bool {
	return !e.Unsure && e.Forgotten == forgotten && !e.Gone && e.Size == doc.Size && e.ModTime.Equal(doc.ModTime) && e.Changed.Equal(doc.Changed) && e.Scope == doc.Scope && e.Kind == doc.Kind && (e.Branch == doc.Branch || e.Branch == redactedBranch(doc.Branch))
}

// rewritten reports whether a document changed despite equal size and time. Then all of it is read.
func (e entry) rewritten(doc source.Document) bool {
	return e.Size == doc.Size && e.ModTime.Equal(doc.ModTime) && !e.Changed.Equal(doc.Changed)
}

// lastChange is when a document changed last, for all that its source knows.
func (e entry) lastChange() time.Time {
	if e.Said.Commit {
		return e.Said.At
	}
	return e.ModTime
}

// find returns what is known of a document.
func (m *manifest) find(path string) (entry, bool) {
	if e, known := m.Documents[path]; known {
		return e, true
	}
	for _, l := range m.layers {
		if d := l.of(path); d != nil {
			return d.entry, true
		}
	}
	return entry{}, false
}

// of is find; it returns the zero entry for an unknown document.
func (m *manifest) of(path string) entry {
	e, _ := m.find(path)
	return e
}

// all returns all documents, in any order.
func (m *manifest) all() iter.Seq2[string, entry] {
	return func(yield func(string, entry) bool) {
		for path, e := range m.Documents {
			if !yield(path, e) {
				return
			}
		}
		for _, l := range m.layers {
			for path, d := range l.all {
				if !yield(path, d.entry) {
					return
				}
			}
		}
	}
}

// names returns the paths of all documents, in any order.
func (m *manifest) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for path := range m.Documents {
			if !yield(path) {
				return
			}
		}
		for _, l := range m.layers {
			for path := range l.all {
				if !yield(path) {
					return
				}
			}
		}
	}
}

// paths returns names in order.
func (m *manifest) paths() []string { return slices.Sorted(m.names()) }

// countFiles counts the documents that are dated by their files or commits, and those of them that
// are of a time.
func (m *manifest) countFiles(when func(time.Time) bool) (files, then int) {
	for _, e := range m.Documents {
		if at, ok := e.fileTime(); ok {
			if files++; when(at) {
				then++
			}
		}
	}
	for _, l := range m.layers {
		some, ofThem := l.countFiles(when)
		files, then = files+some, then+ofThem
	}
	return files, then
}

// fileTime is lastChange of a note that does not say its date.
func (e entry) fileTime() (at time.Time, ok bool) {
	return e.lastChange(), e.Kind != source.KindConversation && (!e.Said.isKnown() || e.Said.Commit)
}

func (m *manifest) chunks() (all, pending int) {
	for _, l := range m.layers {
		all, pending = all+l.chunks, pending+l.pending
	}
	for _, e := range m.Documents {
		all += e.Chunks
		pending += e.pending()
	}
	return all, pending
}

// setAside counts chunks.
func (m *manifest) setAside() (n int) {
	for _, e := range m.all() {
		n += e.SetAside.chunks()
	}
	return n
}

// inFolders takes only paths that end with a slash.
func (m *manifest) inFolders(paths []string) (documents []string) {
	for _, folder := range paths {
		if !strings.HasSuffix(folder, "/") {
			continue
		}
		for document := range m.names() {
			if strings.HasPrefix(document, folder) {
				documents = append(documents, document)
			}
		}
	}
	return documents
}

func (e entry) pending() int {
	if !e.Pending {
		return 0
	}
	return max(e.Chunks-e.Partly, 0)
}

// readManifest fails as store.ManifestFormat does.
func readManifest(generation string) (*manifest, error) {
	m := &manifest{}
	if err := manifestFormat.Read(generation, m); err != nil {
		return nil, err
	}
	if m.Documents == nil {
		m.Documents = map[string]entry{}
	}
	return m, nil
}

// Unchanged implements generation.Snapshot.
func (m *manifest) Unchanged(string) bool { return true }

// Close implements generation.Snapshot.
func (m *manifest) Close() error { return nil }

// EngineOf returns the engine of the vectors in folder, if any, and the number of its chunks. It
// opens no index: this build may lack the engine.
func EngineOf(folder string) (engine string, chunks int, err error) {
	return NewEngineReader(folder).Engine()
}

// An EngineReader is EngineOf for frequent, also concurrent callers.
type EngineReader struct {
	follower *generation.Follower[*manifest]
}

// NewEngineReader accepts a folder without an index.
func NewEngineReader(folder string) *EngineReader {
	open := func(_ context.Context, _ *manifest, n uint64, folder string) (*manifest, error) {
		m := &manifest{}
		if n == 0 {
			return m, nil
		}
		var named struct {
			Engine string `json:"engine"`
			Chunks int    `json:"chunks"`
		}
		err := manifestFormat.ReadBefore("documents", folder, &named) // they take most of the time
		m.Engine, m.Chunks = named.Engine, named.Chunks
		return m, err
	}
	return &EngineReader{generation.Follow(generation.New(folder), store.ManifestFile, open)}
}

// Engine returns what EngineOf does.
func (r *EngineReader) Engine() (engine string, chunks int, err error) {
	err = r.follower.Read(context.Background(), func(m *manifest) error {
		engine, chunks = m.Engine, m.Chunks
		return nil
	})
	return engine, chunks, err
}

func (m *manifest) save(generation string) error {
	m.Updated = time.Now().UTC()
	m.Chunks, _ = m.chunks()
	text, err := manifestFormat.Encode(generation, m)
	if err != nil {
		return err
	}
	return safefile.Replace(generation, store.ManifestFile, text, 0o600)
}
