package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/store"
)

// forgotten names a document, or part of one.
type forgotten struct {
	Path string `json:"path"`
	// Line begins a turn of a log: logs only grow.
	Line int `json:"line,omitempty"`
	// Text is the SHA-256 of a chunk whose lines can move. Without Line and Text it is the whole
	// document.
	Text string    `json:"text,omitempty"`
	At   time.Time `json:"at"`
}

type forgottenList struct {
	Forgotten []forgotten `json:"forgotten"`
}

type forgottenSet map[forgotten]bool

var (
	// ErrNotIndexed means that the index lacks the document or chunk.
	ErrNotIndexed = errors.New("not in the index")
	// ErrNotForgotten means that nothing of a document is forgotten.
	ErrNotForgotten = errors.New("nothing of it is forgotten")
	// ErrNoList means that Options.Forgotten is not set.
	ErrNoList = errors.New("this memory keeps no list of forgotten documents")
)

// Forget removes chunks, or without ids the whole document, from this and later indexes, also from
// their files, but not from the document's. Equal texts and the chunks of a turn go together;
// Forget returns how many. Changed chunks are indexed again, except turns of a log. Errors wrap
// ErrNotIndexed and ErrNoList.
func (m *Manager) Forget(ctx context.Context, path string, ids ...string) (int, error) {
	_, records, err := m.allOf(ctx, path)
	if err != nil {
		return 0, fmt.Errorf("forget %s: %w", path, err)
	}
	names := []forgotten{{Path: path}}
	if len(ids) > 0 {
		names = nil
	}
	for _, id := range ids {
		i := slices.IndexFunc(records, func(r store.Record) bool { return r.ID == id })
		if i < 0 {
			return 0, fmt.Errorf("forget %s: chunk %s is %w", path, id, ErrNotIndexed)
		}
		names = append(names, nameOf(records[i]))
	}
	if err := m.changeForgotten(ctx, []string{path}, adding(names)); err != nil {
		return 0, fmt.Errorf("forget %s: %w", path, err)
	}
	left, err := m.document(ctx, path)
	if errors.Is(err, ErrNotIndexed) {
		err = nil
	}
	return len(withoutStatements(records)) - len(left), err
}

// TellsOf reports whether the digest of a log tells of the turn that begins at a line: an exchange,
// a statement, or a command that failed.
func (m *Manager) TellsOf(ctx context.Context, path string, line int) (bool, error) {
	d, err := m.digestOf(ctx, path)
	return !isJSON(path) && (slices.ContainsFunc(d.Exchanges, func(e digest.Exchange) bool { return e.StartLine == line }) ||
		slices.ContainsFunc(d.Statements, func(s digest.Statement) bool { return s.Line == line }) ||
		slices.ContainsFunc(d.Failures, func(f digest.Failure) bool { return f.Line == line })), err
}

// ForgetLine forgets the turn of a log that begins at a line, also if it makes no chunk: a request
// that only asks, or the result of a command that failed. Errors wrap ErrNotIndexed if the log's
// digest tells nothing of it.
func (m *Manager) ForgetLine(ctx context.Context, path string, line int) error {
	told, err := m.TellsOf(ctx, path, line)
	if err == nil && !told {
		err = ErrNotIndexed
	}
	if err == nil {
		err = m.changeForgotten(ctx, []string{path}, adding([]forgotten{{Path: path, Line: line}}))
	}
	if err != nil {
		return fmt.Errorf("forget line %d of %s: %w", line, path, err)
	}
	return nil
}

// emptyLines empties the turns of a log that are forgotten by their line.
func (s forgottenSet) emptyLines(path string, turns []chunker.Turn) {
	if isJSON(path) {
		return
	}
	for i, t := range turns {
		if s[forgotten{Path: path, Line: t.Line}] {
			turns[i].Text, turns[i].Tools = "", nil
		}
	}
}

// ForgetDocuments is Forget for whole documents.
func (m *Manager) ForgetDocuments(ctx context.Context, paths ...string) error {
	names := make([]forgotten, len(paths))
	for i, path := range paths {
		names[i].Path = path
	}
	if err := m.changeForgotten(ctx, paths, adding(names)); err != nil {
		return fmt.Errorf("forget %d documents: %w", len(paths), err)
	}
	return nil
}

// adding returns a change that adds names to a list, with the time of this call.
func adding(names []forgotten) func([]forgotten) []forgotten {
	now := time.Now().UTC().Truncate(time.Second)
	return func(list []forgotten) []forgotten {
		known := setOf(list)
		for _, name := range names {
			if !known[name] {
				known[name] = true
				name.At = now
				list = append(list, name)
			}
		}
		return list
	}
}

// Remember undoes Forget and returns the number of removed entries. Errors wrap ErrNotForgotten.
func (m *Manager) Remember(ctx context.Context, path string) (int, error) {
	taken := 0
	err := m.changeForgotten(ctx, []string{path}, func(list []forgotten) []forgotten {
		kept := slices.DeleteFunc(slices.Clone(list), func(f forgotten) bool { return f.Path == path })
		taken = len(list) - len(kept)
		return kept
	})
	if err != nil {
		return taken, fmt.Errorf("remember %s: %w", path, err)
	}
	if taken == 0 {
		err = fmt.Errorf("remember %s: %w", path, ErrNotForgotten)
	}
	return taken, err
}

// Forgotten returns how many parts of a document a list hides.
func Forgotten(file, path string) (n int, err error) {
	list, err := jsonfile.Load[forgottenList](file)
	if err != nil {
		return 0, fmt.Errorf("list of forgotten documents: %w", err)
	}
	for _, f := range list.Forgotten {
		if f.Path == path {
			n++
		}
	}
	return n, nil
}

// changeForgotten changes the list and indexes some documents again.
func (m *indexer) changeForgotten(ctx context.Context, paths []string, change func([]forgotten) []forgotten) error {
	if m.options.Forgotten == "" {
		return ErrNoList
	}
	unlock, err := m.writing.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := jsonfile.Change(ctx, m.options.Forgotten, func(list *forgottenList) error {
		list.Forgotten = change(list.Forgotten)
		return nil
	}); err != nil {
		return fmt.Errorf("list of forgotten documents: %w", err)
	}
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return nil
	}
	if err != nil {
		return err
	}
	changed := *current.manifest // readers keep theirs
	changed.Documents = maps.Clone(changed.Documents)
	known := false
	for _, path := range paths {
		if e, ok := changed.Documents[path]; ok {
			known = true
			e.Unsure, e.Hash, e.Resume = true, "", source.Position{} // read it again
			changed.Documents[path] = e
		}
	}
	if known {
		err = changed.save(current.folder)
	}
	current.release()
	if err != nil {
		return err
	}
	return m.index(ctx, IndexOptions{Purge: true}, &IndexReport{})
}

// readForgotten never fails silently, or forgotten text would return.
func (o Options) readForgotten() (forgottenSet, error) {
	if o.Forgotten == "" {
		return forgottenSet{}, nil
	}
	list, err := jsonfile.Load[forgottenList](o.Forgotten)
	if err != nil {
		return nil, fmt.Errorf("the list of forgotten documents cannot be read: %w; if you delete it, they are found again", err)
	}
	return setOf(list.Forgotten), nil
}

func setOf(list []forgotten) forgottenSet {
	set := forgottenSet{}
	for _, f := range list {
		f.At = time.Time{}
		set[f] = true
	}
	return set
}

// nameOf returns how the list names a chunk.
func nameOf(r store.Record) forgotten {
	if (r.Kind == source.KindConversation || r.Kind == KindStatement) && !isJSON(r.Path) {
		return forgotten{Path: r.Path, Line: r.StartLine}
	}
	sum := sha256.Sum256([]byte(r.Text))
	return forgotten{Path: r.Path, Text: hex.EncodeToString(sum[:])}
}

func isJSON(document string) bool { return strings.EqualFold(path.Ext(document), ".json") }

// has reports whether part of a document is forgotten.
func (s forgottenSet) has(path string) bool {
	for f := range s {
		if f.Path == path {
			return true
		}
	}
	return false
}

// without also clears forgotten text in Before and After.
func (s forgottenSet) without(path string, records []store.Record) (kept, gone []store.Record) {
	switch {
	case !s.has(path):
		return records, nil
	case s[forgotten{Path: path}]:
		return nil, records
	}
	for _, r := range records {
		if s[nameOf(r)] {
			gone = append(gone, r)
		} else {
			kept = append(kept, r)
		}
	}
	for i := range kept {
		r := &kept[i]
		for _, g := range gone {
			if repeatsText(r.Before, g.Text) {
				r.Before = ""
			}
			if repeatsText(r.After, g.Text) {
				r.After = ""
			}
		}
	}
	return kept, gone
}

// emptyTurns empties the turns with forgotten records.
func emptyTurns(turns []chunker.Turn, gone []store.Record) (any bool) {
	for i, t := range turns {
		if t.Text != "" && slices.ContainsFunc(gone, func(r store.Record) bool {
			return t.Line == r.StartLine && t.EndLine == r.EndLine && !isJSON(r.Path) || strings.Contains(t.Text, r.Text)
		}) {
			turns[i].Text, turns[i].Tools, any = "", nil, true
		}
	}
	return any
}

// repeatsText also finds cut texts.
func repeatsText(beside, text string) bool {
	const telling = 24 // bytes
	if beside == "" || text == "" {
		return false
	}
	head, tail := beside[:min(len(beside), telling)], beside[max(0, len(beside)-telling):]
	return strings.Contains(text, head) || strings.Contains(text, tail) || strings.Contains(beside, text[:min(len(text), telling)])
}
