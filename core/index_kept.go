package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/source/keptlog"
)

// An agent deletes its logs some day (source.Document.Rotated). What the index reads of one is also
// kept in Options.Kept, without secrets. When the file is gone, its document stays, with Gone; an
// index that is made again reads it from there. It goes when it is forgotten or pruned, and when
// the log is there, but no longer listed, or listed under another path.

// A keptFile is the file in Options.Kept of one log. Another size than Bytes means that a crash or
// another index has changed it: then the log is read again from its beginning.
type keptFile struct {
	Bytes int64 `json:"bytes"`
	// Whole is its size when it was last written in one piece.
	Whole int64 `json:"whole"`
}

// A keptFrame is what a reading adds to the file.
type keptFrame struct {
	log  keptlog.Log
	data []byte // in one or more frames; none removes the file
}

// keepsAll reports whether the file of a document has all that was read of it.
func (m *indexer) keepsAll(doc source.Document, known entry) bool {
	return m.options.Kept == "" || !doc.Rotated || known.Kept.Bytes > 0 && m.kept.Size(doc.Path) == known.Kept.Bytes
}

// keep fills in what is kept of a reading. content has lost what is forgotten.
func (w *writer) keep(r *reading, content source.Content) error {
	if w.m.options.Kept == "" || !r.doc.Rotated {
		return nil
	}
	doc := r.doc
	log := keptlog.Log{Path: doc.Path, File: doc.File, Scope: doc.Scope, Format: doc.Format, Session: doc.Session, Branch: doc.Branch,
		Size: doc.Size, ModTime: doc.ModTime, Agent: content.Agent, From: content.From}
	if r.kept == nil || log.From == 1 {
		r.kept = &keptFrame{log: log}
	}
	if r.forgotten {
		return nil
	}
	turns := slices.Clone(content.Turns)
	for i, t := range turns {
		if content.Agent && t.Role != "user" {
			turns[i].Text = r.redactQuietly(t.Text)
		}
		turns[i].Tools = make([]chunker.ToolUse, len(t.Tools))
		for j, use := range t.Tools {
			turns[i].Tools[j] = digest.Reduced(use, r.redactQuietly)
		}
	}
	data, err := keptlog.Frame(log, turns)
	if err != nil {
		return &indexFailure{fmt.Errorf("keep %s: %w", doc.Path, err)}
	}
	r.kept.data = append(r.kept.data, data...)
	return nil
}

// saveKept writes what is kept of readings, before the manifest says so.
func (w *writer) saveKept(batch []reading) error { return each(batch, w.saveKeptOf) }

func (w *writer) saveKeptOf(r *reading) error {
	if r.kept == nil {
		return nil
	}
	log, data, store := r.kept.log, r.kept.data, w.m.kept
	known := w.manifest.Documents[log.Path].Kept
	switch {
	case data == nil:
		return store.Remove(log.Path)
	case log.From == 1:
		if err := store.Write(log, data); err != nil {
			return err
		}
		known.Whole = int64(len(data))
	default:
		if err := store.Append(log, data); err != nil {
			return err
		}
		if size := store.Size(log.Path); size > 2*known.Whole+minFrames {
			whole, err := w.m.rewriteKept(log)
			if errors.Is(err, keptlog.ErrDamaged) {
				r.entry.Unsure, r.entry.Kept = true, keptFile{} // the next run reads the log from its beginning
				return nil
			}
			if err != nil {
				return err
			}
			known.Whole = whole
		}
	}
	known.Bytes = store.Size(log.Path)
	r.entry.Kept = known
	return nil
}

// minFrames is how many bytes are appended to a file before it is written in one piece.
const minFrames = 64 << 10

func (m *indexer) rewriteKept(log keptlog.Log) (size int64, err error) {
	log, turns, err := m.kept.Read(log.Path)
	if err != nil {
		return 0, err
	}
	data, err := keptlog.Frame(log, turns)
	if err == nil {
		err = m.kept.Write(log, data)
	}
	return int64(len(data)), err
}

// keptLogs are the source of what is kept.
type keptLogs struct {
	keptlog.Store
	names map[string]bool // of the files that List lists
}

const keptSource = "logs that agents deleted"

// Name implements source.Source.
func (keptLogs) Name() string { return keptSource }

// List implements source.Source.
func (s keptLogs) List(ctx context.Context) (source.Listing, error) {
	var listing source.Listing
	for name := range s.names {
		if ctx.Err() != nil {
			return source.Listing{}, ctx.Err()
		}
		log, err := s.Head(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			listing.Skipped = append(listing.Skipped, source.Skip{Path: keptSource, Reason: err.Error()})
		default:
			listing.Documents = append(listing.Documents, documentOf(log))
		}
	}
	slices.SortFunc(listing.Documents, func(a, b source.Document) int { return cmp.Compare(a.Path, b.Path) })
	return listing, nil
}

// take reports whether a document's file is to be listed, and takes it out of the list. A query
// comes here with every path, so that none is hashed where nothing is kept.
func (s keptLogs) take(path string) bool {
	if len(s.names) == 0 {
		return false
	}
	name := keptlog.Name(path)
	isKept := s.names[name]
	delete(s.names, name)
	return isKept
}

func documentOf(log keptlog.Log) source.Document {
	return source.Document{Path: log.Path, File: log.File, Scope: log.Scope, Kind: source.KindConversation, Format: log.Format,
		Session: log.Session, Branch: log.Branch, Size: log.Size, ModTime: log.ModTime, Rotated: true}
}

// Read implements source.Source. A file whose end is damaged is read up to there.
func (s keptLogs) Read(ctx context.Context, doc source.Document, _ source.Position) (source.Content, error) {
	log, turns, err := s.Store.Read(doc.Path)
	content := source.Content{Turns: turns, Agent: log.Agent, From: 1}
	if errors.Is(err, keptlog.ErrDamaged) && len(turns) > 0 {
		content.Skipped = map[string]int{err.Error(): 1}
		err = nil
	}
	return content, errors.Join(err, ctx.Err())
}

// scanKept finds the logs that are gone, or that cannot be read now, and stay.
func (c *changes) scanKept(ctx context.Context, o Options, indexed *manifest, forgotten int64, present, unlisted map[string]bool) error {
	unreadable := map[string]bool{}
	for _, skip := range c.skipped {
		unreadable[skip.Path] = true
	}
	logs, unnamed := keptLogs{Store: keptlog.In(o.Kept)}, false
	if o.Kept != "" {
		var err error
		if logs.names, err = logs.Names(); err != nil { // what was known stays known
			unnamed = true
			c.skipped = append(c.skipped, source.Skip{Path: keptSource, Reason: err.Error(), Unreadable: true})
		}
	}
	for _, doc := range c.read {
		logs.take(doc.Path)
	}
	for path, known := range indexed.Documents {
		isKept := logs.take(path)
		isLog := known.Kind == source.KindConversation
		switch {
		case present[path] || unlisted[known.Source]:
			continue
		case isLog && unreadable[path] && !known.Unsure && known.Forgotten == forgotten: // what was known stays known
		case isLog && (isKept || unnamed && known.Kept.Bytes > 0) && (unreadable[path] || keptlog.Gone(known.File)):
			if known.Unsure || known.Forgotten != forgotten {
				c.read = append(c.read, located{Document: known.document(path), from: logs})
			}
			if !known.Gone {
				c.gone = append(c.gone, path)
			}
		default:
			c.removed = append(c.removed, path)
			continue
		}
		c.total++
	}
	listing, err := logs.List(ctx)
	if err != nil {
		return err
	}
	c.skipped = append(c.skipped, listing.Skipped...)
	for _, doc := range listing.Documents {
		if unreadable[doc.Path] || keptlog.Gone(doc.File) {
			c.read = append(c.read, located{Document: doc, from: logs})
			c.total++
		}
	}
	return nil
}

// document returns the document that an entry is of.
func (e entry) document(path string) source.Document {
	return source.Document{Path: path, File: e.File, Scope: e.Scope, Kind: e.Kind, Session: e.Session, Branch: e.Branch, Size: e.Size, ModTime: e.ModTime, Changed: e.Changed, Rotated: true}
}

// markGone notes that the files of logs are gone.
func (w *writer) markGone(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	for _, path := range paths {
		e := w.manifest.Documents[path]
		e.Gone = true
		w.manifest.Documents[path] = e
	}
	w.report.LogsGone += len(paths)
	return w.manifest.save(w.folder)
}

// removeMoved removes logs that are gone from where they were, since their agent has moved them: to
// its archive, or to a compressed file. Only another log of an agent can be the moved one: any
// clone can bring a file of its name and session.
func (w *writer) removeMoved(ctx context.Context) error {
	var moved []string
	there := map[[2]string]bool{}
	for document, e := range w.manifest.Documents {
		if e.Kept.Bytes > 0 && !e.Gone {
			there[logIdentity(document, e)] = true
		}
	}
	for document, e := range w.manifest.Documents {
		if id := logIdentity(document, e); e.Gone && there[id] && strings.ContainsAny(id[1], "0123456789") {
			moved = append(moved, document)
		}
	}
	slices.Sort(moved)
	return w.remove(ctx, moved)
}

// logIdentity returns the name of a log's file and its session.
func logIdentity(document string, e entry) [2]string {
	name := strings.TrimSuffix(path.Base(document), ".zst")
	return [2]string{name, e.Session}
}
