package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/store"
)

// A forgotten thing is not indexed, though its document has it.
type forgotten struct {
	Path string    `json:"path"`
	Text string    `json:"text,omitempty"` // SHA-256 of the chunk's text; "" is the whole document
	At   time.Time `json:"at"`
}

type forgottenList struct {
	Forgotten []forgotten `json:"forgotten"`
}

// Errors of Forget a caller may act on.
var (
	// ErrNotIndexed means that there is no such document or chunk in the index.
	ErrNotIndexed = errors.New("the index has no such thing")
	// ErrNoList means that Options.Forgotten is not set.
	ErrNoList = errors.New("this memory keeps no list of what it shall not find")
)

// Forget takes chunks of a document out of the index, or all of it if none is named, and keeps them out, also of an index that is made anew. The
// document itself stays as it is; what changes in it afterwards is indexed as something new. It returns how many chunks went. Errors wrap
// ErrNotIndexed, ErrNoList.
func (m *Manager) Forget(ctx context.Context, path string, ids ...string) (int, error) {
	records, err := m.document(ctx, path)
	if err != nil {
		return 0, fmt.Errorf("forget %s: %w", path, err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	add := []forgotten{{Path: path, At: now}}
	gone := len(records)
	if len(ids) > 0 {
		add = add[:0]
		for _, id := range ids {
			i := slices.IndexFunc(records, func(r store.Record) bool { return r.ID == id })
			if i < 0 {
				return 0, fmt.Errorf("forget %s: %w: chunk %s", path, ErrNotIndexed, id)
			}
			add = append(add, forgotten{Path: path, Text: textHash(records[i].Text), At: now})
		}
		gone = len(add)
	}
	return gone, m.changeForgotten(ctx, path, func(list []forgotten) []forgotten { return append(list, add...) })
}

// Remember takes back what Forget has done to a document, and returns how much that was. Errors wrap ErrNotIndexed if it was nothing.
func (m *Manager) Remember(ctx context.Context, path string) (int, error) {
	taken := 0
	err := m.changeForgotten(ctx, path, func(list []forgotten) []forgotten {
		kept := slices.DeleteFunc(slices.Clone(list), func(f forgotten) bool { return f.Path == path })
		taken = len(list) - len(kept)
		return kept
	})
	if err == nil && taken == 0 {
		err = fmt.Errorf("remember %s: %w that was forgotten", path, ErrNotIndexed)
	}
	return taken, err
}

// changeForgotten changes the list, and makes the index follow for one document.
func (m *Manager) changeForgotten(ctx context.Context, path string, change func([]forgotten) []forgotten) error {
	if m.options.Forgotten == "" {
		return fmt.Errorf("forget %s: %w", path, ErrNoList)
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
		return fmt.Errorf("list of what is not to be found: %w", err)
	}
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return nil
	}
	if err != nil {
		return err
	}
	if e, known := current.manifest.Documents[path]; known {
		e.Unsure, e.Hash, e.Resume = true, "", source.Position{}
		w := m.newWriter(current.folder, current.manifest, current.indexes, &IndexReport{}, nil)
		w.manifest.Documents[path] = e
		err = w.manifest.save(current.folder)
	}
	current.release()
	if err != nil {
		return err
	}
	return m.index(ctx, IndexOptions{}, &IndexReport{})
}

// document returns the records of a document in the keyword index, in the order of their lines.
func (m *Manager) document(ctx context.Context, path string) ([]store.Record, error) {
	current, err := m.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer current.release()
	if _, known := current.manifest.Documents[path]; !known {
		return nil, ErrNotIndexed
	}
	return current.keywords.Document(ctx, path)
}

// Find returns the chunk with an ID, as a hit without a score. Errors wrap ErrNotIndexed.
func (m *Manager) Find(ctx context.Context, id string) (MemoryHit, error) {
	var found *store.Record
	err := m.eachDocument(ctx, func(path string, _ entry, records []store.Record) {
		if i := slices.IndexFunc(records, func(r store.Record) bool { return r.ID == id }); i >= 0 {
			found = &records[i]
		}
	})
	if err == nil && found == nil {
		err = fmt.Errorf("%w: chunk %s", ErrNotIndexed, id)
	}
	if err != nil {
		return MemoryHit{}, err
	}
	return hitOf(scored{candidate: candidate{record: *found}}, 0, false), nil
}

// Chunks returns the chunks of a document in the order of their lines, as hits without scores. Errors wrap ErrNotIndexed.
func (m *Manager) Chunks(ctx context.Context, path string) ([]MemoryHit, error) {
	records, err := m.document(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	hits := make([]MemoryHit, len(records))
	for i, r := range records {
		hits[i] = hitOf(scored{candidate: candidate{record: r}}, 0, false)
	}
	slices.SortStableFunc(hits, func(a, b MemoryHit) int { return a.StartLine - b.StartLine })
	return hits, nil
}

// eachDocument gives the records of each document to do, in the order of their paths.
func (m *Manager) eachDocument(ctx context.Context, do func(path string, e entry, records []store.Record)) error {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer current.release()
	for _, path := range slices.Sorted(maps.Keys(current.manifest.Documents)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		records, err := current.keywords.Document(ctx, path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		do(path, current.manifest.Documents[path], records)
	}
	return nil
}

func textHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// withoutForgotten leaves out what shall not be found; also where it is repeated as what was said before or after.
func (w *writer) withoutForgotten(path string, records []store.Record) ([]store.Record, error) {
	if w.forgotten == nil {
		w.forgotten = map[forgotten]bool{}
		if file := w.m.options.Forgotten; file != "" {
			list, err := jsonfile.Load[forgottenList](file)
			if err != nil {
				return nil, fmt.Errorf("list of what is not to be found: %w", err)
			}
			for _, f := range list.Forgotten {
				w.forgotten[forgotten{Path: f.Path, Text: f.Text}] = true
			}
		}
	}
	if len(w.forgotten) == 0 {
		return records, nil
	}
	if w.forgotten[forgotten{Path: path}] {
		return nil, nil
	}
	gone := func(r store.Record) bool { return w.forgotten[forgotten{Path: path, Text: textHash(r.Text)}] }
	var kept []store.Record
	for i, r := range records {
		if gone(r) {
			continue
		}
		if i > 0 && gone(records[i-1]) {
			r.Before = ""
		}
		if i+1 < len(records) && gone(records[i+1]) {
			r.After = ""
		}
		kept = append(kept, r)
	}
	return kept, nil
}
