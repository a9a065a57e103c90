package core

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"strings"
	"time"

	"github.com/memcore/memcore/core/source"
)

// An unread document could not be read when it looked like this. What the index has of it stays.
type unread struct {
	Size    int64     `json:"size"`
	ModTime time.Time `json:"modTime"`
	Changed time.Time `json:"changed,omitzero"`
	Reason  string    `json:"reason"`
}

func (u unread) looksLike(doc source.Document) bool {
	return u.Size == doc.Size && u.ModTime.Equal(doc.ModTime) && u.Changed.Equal(doc.Changed)
}

func (w *writer) noteUnread(doc source.Document, err error) {
	reason := strings.TrimPrefix(err.Error(), "read "+doc.Path+": ")
	w.report.Skipped = append(w.report.Skipped, source.Skip{Path: doc.Path, Reason: reason})
	if w.manifest.Unread == nil {
		w.manifest.Unread = map[string]unread{}
	}
	w.manifest.Unread[doc.Path] = unread{Size: doc.Size, ModTime: doc.ModTime, Changed: doc.Changed, Reason: reason}
}

// tryRead is read, of which a panic costs only its document: a daemon indexes other workspaces,
// too.
func (w *writer) tryRead(ctx context.Context, doc located) (r reading, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.m.log.Error("memcore failed at a document: please report this", "document", doc.Path, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("memcore failed at it, please report this: %v", p)
		}
	}()
	return w.read(ctx, doc)
}

// saveUnread saves what became unread, or readable, in this run.
func (w *writer) saveUnread() error {
	same := func(a, b unread) bool {
		return a.Size == b.Size && a.ModTime.Equal(b.ModTime) && a.Changed.Equal(b.Changed) && a.Reason == b.Reason
	}
	if maps.EqualFunc(w.unread, w.manifest.Unread, same) {
		return nil
	}
	w.unread = maps.Clone(w.manifest.Unread)
	return w.manifest.save(w.folder)
}

// withoutUnread leaves out what could not be read and looks as it did: a query does not try it
// again. The others are in skipped.
func (c changes) withoutUnread(known *manifest) (rest changes, skipped []source.Skip) {
	rest = c
	rest.read = nil
	for _, doc := range c.read {
		if u, ok := known.Unread[doc.Path]; ok && u.looksLike(doc.Document) {
			skipped = append(skipped, source.Skip{Path: doc.Path, Reason: u.Reason})
		} else {
			rest.read = append(rest.read, doc)
		}
	}
	return rest, skipped
}

// below returns the documents that are or lie below what cannot be read.
func (m *manifest) below(skipped []source.Skip) (documents []string) {
	unreadable := map[string]bool{}
	for _, s := range skipped {
		if s.Unreadable {
			unreadable[strings.TrimSuffix(s.Path, "/")] = true
		}
	}
	if len(unreadable) == 0 {
		return nil
	}
	for document := range m.Documents {
		for at, cut := document, len(document); cut > 0; cut = strings.LastIndexByte(at, '/') {
			if at = at[:cut]; unreadable[at] {
				documents = append(documents, document)
				break
			}
		}
	}
	return documents
}
