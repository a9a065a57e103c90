package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/memcore/memcore/core/forgotten"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/store"
)

// What is forgotten is taken out of a document when it is read (writer.forget), before anything is
// made of it: chunks, what stands beside them, digests, links and what is kept of a log. When the
// list changes, all documents are read again, since each of them may repeat it (repeatsNothing),
// and until then a query leaves out those that were read before (unheard).

var (
	// ErrNotIndexed means that the index lacks the document or chunk.
	ErrNotIndexed = errors.New("not in the index")
	// ErrNotForgotten means that nothing of a document is forgotten.
	ErrNotForgotten = errors.New("nothing of it is forgotten")
	// ErrNoList means that Options.Forgotten is not set.
	ErrNoList = errors.New("this memory keeps no list of forgotten texts")
)

// A forgottenList reads the list when it has changed.
type forgottenList struct {
	file string // "" is none
	name string // of the workspace

	mu   sync.Mutex
	info fs.FileInfo
	set  *forgotten.Set
}

// load never fails silently, or forgotten text would return.
func (l *forgottenList) load() (*forgotten.Set, error) {
	if l.file == "" {
		return &forgotten.Set{}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	info, err := os.Stat(l.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.info, l.set = nil, &forgotten.Set{}
		return l.set, nil
	case err == nil && filetime.Same(info, l.info):
		return l.set, nil
	}
	set, err := forgotten.Load(l.file, l.name)
	if err != nil {
		return nil, fmt.Errorf("what is forgotten cannot be read: %w; without the list it is found again", err)
	}
	l.info, l.set = info, set
	return set, nil
}

// isForgotten reports whether a document is forgotten by its name.
func (m *indexer) isForgotten(list *forgotten.Set, path string) bool {
	return list.Whole(m.options.Name, path)
}

// forget takes out what is forgotten of a document and returns how many parts that is.
func (w *writer) forget(doc source.Document, content *source.Content) (hidden int) {
	if w.m.isForgotten(w.forgotten, doc.Path) {
		content.Turns, content.Markdown = nil, nil
		return 1
	}
	list := w.forgotten.For(w.m.options.Name, doc.Path)
	content.Markdown, hidden = list.Markdown(content.Markdown)
	return hidden + list.Turns(content.Turns, w.m.cutter.redactQuietly)
}

// repeatsNothing reports whether a document that has not changed says nothing of what is forgotten
// now, so that the index has it as it is.
func (w *writer) repeatsNothing(ctx context.Context, doc located) bool {
	known, ok := w.manifest.Documents[doc.Path]
	if !ok || known.Forgotten == w.forgotten.Changed || known.Hidden > 0 || !known.unchanged(doc.Document, known.Forgotten) || !w.m.keepsAll(doc.Document, known) {
		return false
	}
	for from := (source.Position{}); ; {
		content, err := doc.from.Read(ctx, doc.Document, from)
		if err != nil {
			return false
		}
		if content.Markdown != nil {
			content.Markdown = searchable(content.Markdown, w.m.cutter.redactQuietly)
		}
		if w.forget(doc.Document, &content) > 0 {
			return false
		}
		if !content.More {
			return true
		}
		from = content.Resume
	}
}

// maxUnheard is how many documents a query leaves out by their names.
const maxUnheard = 100

// unheard returns the documents that were read before the list last grew. If the list cannot be
// read, no index is made or changed either.
func (m *indexer) unheard(known *manifest) (paths []string) {
	list, err := m.forgotten.load()
	if err != nil || list.Added == 0 {
		return nil
	}
	for path, e := range known.all() {
		if e.Forgotten < list.Added {
			paths = append(paths, path)
		}
	}
	return paths
}

// A Forgotten says what was forgotten of a document.
type Forgotten struct {
	Chunks int
	Texts  []string // of turns or paragraphs, without secrets
}

// Forget removes what chunks say, or without ids the whole document, from this and later indexes of
// all memories with the same list, also from their files, but not from the document's. A turn or
// paragraph is forgotten whole, wherever it is said. Errors wrap ErrNotIndexed and ErrNoList.
func (m *Manager) Forget(ctx context.Context, path string, ids ...string) (gone Forgotten, err error) {
	err = m.changeForgotten(ctx, func() error {
		_, records, err := m.allOf(ctx, path)
		if err != nil {
			return err
		}
		var chosen []store.Record
		for _, id := range ids {
			i := slices.IndexFunc(records, func(r store.Record) bool { return r.ID == id })
			if i < 0 {
				return fmt.Errorf("chunk %s is %w", id, ErrNotIndexed)
			}
			chosen = append(chosen, records[i])
		}
		gone.Chunks = len(withoutStatements(records))
		gone.Texts, err = m.addForgotten(ctx, path, chosen)
		return err
	})
	var left []store.Record
	if err == nil {
		left, err = m.document(ctx, path)
	}
	if errors.Is(err, ErrNotIndexed) && gone.Texts != nil {
		err = nil
	}
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget %s: %w", path, err)
	}
	gone.Chunks -= len(left)
	return gone, nil
}

// Says returns what the lines of a document say that is not forgotten yet, also what makes no
// chunk: a request that only asks, or a command that failed. Errors wrap ErrNotIndexed.
func (m *Manager) Says(ctx context.Context, path string, first, last int) (texts []string, err error) {
	says, some, err := m.saysIn(ctx, path, first, last)
	for _, i := range some {
		texts = append(texts, says[i].Text)
	}
	return texts, err
}

func (m *indexer) saysIn(ctx context.Context, path string, first, last int) (says forgotten.Passages, some []int, err error) {
	list, err := m.forgotten.load()
	if err == nil {
		says, err = m.passagesOf(ctx, path)
	}
	if err != nil || m.isForgotten(list, path) {
		return nil, nil, err
	}
	list = list.For(m.options.Name, path)
	return says, slices.DeleteFunc(says.In(first, last), func(i int) bool { return list.Hides(says, i) }), nil
}

// ForgetLines is Forget for what the lines of a document say. Errors wrap ErrNotIndexed if that is
// nothing.
func (m *Manager) ForgetLines(ctx context.Context, path string, first, last int) (gone Forgotten, err error) {
	err = m.changeForgotten(ctx, func() error {
		says, some, err := m.saysIn(ctx, path, first, last)
		if err == nil {
			gone.Texts, err = m.forgetPart(ctx, forgotten.Part{In: m.options.Name, Path: path, Passages: says, Some: some})
		}
		return err
	})
	if err != nil {
		return Forgotten{}, fmt.Errorf("forget lines %d to %d of %s: %w", first, last, path, err)
	}
	return gone, nil
}

// ForgetDocuments hides whole documents by their names, with what they will say later. Their texts
// are not forgotten elsewhere.
func (m *Manager) ForgetDocuments(ctx context.Context, paths ...string) error {
	err := m.changeForgotten(ctx, func() error {
		parts := make([]forgotten.Part, len(paths))
		for i, path := range paths {
			parts[i] = forgotten.Part{In: m.options.Name, Path: path, Whole: true}
		}
		return forgotten.Add(ctx, m.options.Forgotten, parts...)
	})
	if err != nil {
		return fmt.Errorf("forget %d documents: %w", len(paths), err)
	}
	return nil
}

// Remember undoes Forget for a document, and for what it says wherever that was forgotten. It
// returns the number of removed entries of the list. Errors wrap ErrNotForgotten.
func (m *Manager) Remember(ctx context.Context, path string) (taken int, err error) {
	err = m.changeForgotten(ctx, func() error {
		says, err := m.passagesOf(ctx, path)
		if err == nil || errors.Is(err, ErrNotIndexed) { // of one that is gone only its name is known
			taken, err = forgotten.Remember(ctx, m.options.Forgotten, m.options.Name, path, says)
		}
		return err
	})
	if err == nil && taken == 0 {
		err = ErrNotForgotten
	}
	if err != nil {
		return taken, fmt.Errorf("remember %s: %w", path, err)
	}
	return taken, nil
}

// Hidden returns how many parts of a document are forgotten.
func (m *Manager) Hidden(ctx context.Context, path string) (n int, err error) {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer current.release()
	return current.manifest.of(path).Hidden, nil
}

// addForgotten adds what records of a document say; nil is the whole document.
func (m *indexer) addForgotten(ctx context.Context, path string, records []store.Record) (texts []string, err error) {
	says, err := m.passagesOf(ctx, path)
	if err != nil {
		return nil, err
	}
	part := forgotten.Part{In: m.options.Name, Path: path, Whole: records == nil, Passages: says}
	if part.Whole {
		for i := range says {
			part.Some = append(part.Some, i)
		}
	}
	for _, r := range records {
		some := says.In(r.StartLine, r.EndLine)
		if r.Text != "" && isJSON(path) {
			some = says.Nearest(some, r.Text)
		}
		for _, i := range some {
			if !slices.Contains(part.Some, i) {
				part.Some = append(part.Some, i)
			}
		}
	}
	return m.forgetPart(ctx, part)
}

// forgetPart returns what the part says.
func (m *indexer) forgetPart(ctx context.Context, part forgotten.Part) (texts []string, err error) {
	if len(part.Some) == 0 && !part.Whole {
		return nil, fmt.Errorf("the document says nothing there: %w", ErrNotIndexed)
	}
	texts = []string{}
	for _, i := range part.Some {
		texts = append(texts, part.Passages[i].Text)
	}
	return texts, forgotten.Add(ctx, m.options.Forgotten, part)
}

// passagesOf reads all that a document says, as indexing does, with what is forgotten. Errors wrap
// ErrNotIndexed.
func (m *indexer) passagesOf(ctx context.Context, path string) (all forgotten.Passages, err error) {
	doc, err := m.locate(ctx, path)
	if err != nil {
		return nil, err
	}
	for from := (source.Position{}); ; {
		content, err := doc.from.Read(ctx, doc.Document, from)
		if err != nil {
			return nil, err
		}
		if content.Turns == nil {
			return append(all, forgotten.OfMarkdown(string(searchable(content.Markdown, m.cutter.redactQuietly)))...), nil
		}
		for len(all) > 0 && all[len(all)-1].First >= content.From {
			all = all[:len(all)-1] // read again
		}
		all = append(all, forgotten.OfTurns(content.Turns, m.cutter.redactQuietly)...)
		if !content.More {
			return all, nil
		}
		from = content.Resume
	}
}

// locate finds a document in its source, or what is kept of it.
func (m *indexer) locate(ctx context.Context, path string) (located, error) {
	if m.options.Contents != nil {
		return located{}, ErrElsewhere
	}
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return located{}, ErrNotIndexed
	}
	if err != nil {
		return located{}, err
	}
	defer current.release()
	known, ok := current.manifest.Documents[path]
	if !ok {
		return located{}, ErrNotIndexed
	}
	if known.Gone && m.options.Kept != "" {
		return located{Document: known.document(path), from: keptLogs{Store: m.kept}}, nil
	}
	for _, from := range m.options.Sources {
		if from.Name() != known.Source {
			continue
		}
		listing, err := from.List(ctx)
		if err != nil {
			return located{}, err
		}
		for _, doc := range listing.Documents {
			if doc.Path == path {
				return located{Document: doc, from: from}, nil
			}
		}
	}
	return located{}, ErrNotIndexed
}

// changeForgotten brings the index up to date, so that it says where everything is, changes the
// list and reads all documents again.
func (m *indexer) changeForgotten(ctx context.Context, change func() error) error {
	if m.options.Contents != nil {
		return ErrElsewhere
	}
	if m.options.Forgotten == "" {
		return ErrNoList
	}
	unlock, err := m.writing.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return change()
	}
	if err == nil {
		current.release()
	}
	// A failure is met again below, when nothing can find what is forgotten.
	_ = m.index(ctx, IndexOptions{}, &IndexReport{})
	if err := change(); err != nil {
		return err
	}
	return m.index(ctx, IndexOptions{Purge: true}, &IndexReport{})
}

func isJSON(document string) bool { return strings.EqualFold(path.Ext(document), ".json") }
