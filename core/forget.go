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
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/store"
)

// A forgotten thing is not indexed, though its document has it.
type forgotten struct {
	Path string `json:"path"`
	// Line is where a turn of a log begins: logs are appended to, so it names the turn however it is cut, now and later.
	Line int `json:"line,omitempty"`
	// Text is the SHA-256 of a chunk of Markdown, or of a conversation that is one JSON document: all of that may be in one line, and each writing may move
	// the lines. Without Line and Text it is the whole document.
	Text string    `json:"text,omitempty"`
	At   time.Time `json:"at"`
}

type forgottenList struct {
	Forgotten []forgotten `json:"forgotten"`
}

// Errors of Forget a caller may act on.
var (
	// ErrNotIndexed means that there is no such document or chunk in the index.
	ErrNotIndexed = errors.New("the index has no such thing")
	// ErrNotOurs means that a document is another memory's, which shares it; only there it can be forgotten.
	ErrNotOurs = errors.New("it is shared by another memory")
	// ErrNoList means that Options.Forgotten is not set.
	ErrNoList = errors.New("this memory keeps no list of what it shall not find")
)

// Forget takes chunks of a document out of the index, or all of it if none is named, and keeps them out, also of an index that is made anew. The
// document itself stays as it is. What changes in a chunk afterwards is something new and indexed; only turns of a log of lines are known by their
// lines. It returns how many chunks went, which may be more than were named: all of such a turn, and of anything else what says the same in other places of
// the document. Errors wrap ErrNotIndexed, ErrNotOurs, ErrNoList.
func (m *Manager) Forget(ctx context.Context, path string, ids ...string) (int, error) {
	records, err := m.document(ctx, path)
	if err != nil {
		return 0, fmt.Errorf("forget %s: %w", path, err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	add := []forgotten{{Path: path, At: now}}
	if len(ids) > 0 {
		add = add[:0]
		for _, id := range ids {
			i := slices.IndexFunc(records, func(r store.Record) bool { return r.ID == id })
			if i < 0 {
				return 0, fmt.Errorf("forget %s: %w: chunk %s", path, ErrNotIndexed, id)
			}
			f := forgottenAs(records[i])
			f.At = now
			add = append(add, f)
		}
	}
	if err := m.changeForgotten(ctx, path, func(list []forgotten) []forgotten {
		for _, f := range add {
			if !slices.ContainsFunc(list, func(known forgotten) bool { return known.same(f) }) {
				list = append(list, f)
			}
		}
		return list
	}); err != nil {
		return 0, err
	}
	left, err := m.document(ctx, path)
	if errors.Is(err, ErrNotIndexed) {
		err = nil
	}
	return len(records) - len(left), err
}

// forgottenAs is how a chunk is named in the list.
func forgottenAs(r store.Record) forgotten {
	if r.Kind == source.KindConversation && !strings.EqualFold(path.Ext(r.Path), ".json") {
		return forgotten{Path: r.Path, Line: r.StartLine}
	}
	return forgotten{Path: r.Path, Text: textHash(r.Text)}
}

func (f forgotten) same(g forgotten) bool {
	return f.Path == g.Path && f.Line == g.Line && f.Text == g.Text
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
		changed := *current.manifest // readers keep theirs
		changed.Documents = maps.Clone(changed.Documents)
		e.Unsure, e.Hash, e.Resume = true, "", source.Position{} // it has to be read again
		changed.Documents[path] = e
		err = changed.save(current.folder)
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
	if stateOf(err) == StateMissing {
		return nil, ErrNotIndexed
	}
	if err != nil {
		return nil, err
	}
	defer current.release()
	switch e, known := current.manifest.Documents[path]; {
	case !known:
		return nil, ErrNotIndexed
	case e.Source == sharedSource:
		return nil, ErrNotOurs
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

// readForgotten returns the list, by what it names. Without it nothing may be indexed: what was forgotten would come back.
func (m *Manager) readForgotten() (map[forgotten]bool, error) {
	names := map[forgotten]bool{}
	if m.options.Forgotten == "" {
		return names, nil
	}
	list, err := jsonfile.Load[forgottenList](m.options.Forgotten)
	if err != nil {
		return nil, fmt.Errorf("the list of what is not to be found cannot be read: %w: mend it, or delete it, which brings all of that back", err)
	}
	for _, f := range list.Forgotten {
		f.At = time.Time{}
		names[f] = true
	}
	return names, nil
}

// forgets tells whether something of a document is left out, so that it has to be read from the start.
func (w *writer) forgets(path string) bool {
	for f := range w.forgotten {
		if f.Path == path {
			return true
		}
	}
	return false
}

// withoutForgotten leaves out what shall not be found, also where it is repeated as what was said before or after.
func (w *writer) withoutForgotten(path string, records []store.Record) []store.Record {
	if !w.forgets(path) {
		return records
	}
	if w.forgotten[forgotten{Path: path}] {
		return nil
	}
	var kept, gone []store.Record
	for _, r := range records {
		if w.forgotten[forgottenAs(r)] {
			gone = append(gone, r)
		} else {
			kept = append(kept, r)
		}
	}
	for i := range kept {
		for _, g := range gone {
			if repeatsText(kept[i].Before, g.Text) {
				kept[i].Before = ""
			}
			if repeatsText(kept[i].After, g.Text) {
				kept[i].After = ""
			}
		}
	}
	return kept
}

// gone returns the records that are not among those kept.
func gone(records, kept []store.Record) []store.Record {
	known := make(map[string]bool, len(kept))
	for _, r := range kept {
		known[r.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(records), func(r store.Record) bool { return known[r.ID] })
}

// silence empties the turns that say forgotten records, so that no answer is headed by them. It reports
// whether there are any.
func (w *writer) silence(turns []chunker.Turn, forgotten []store.Record) (any bool) {
	for i, t := range turns {
		if t.Text != "" && slices.ContainsFunc(forgotten, func(r store.Record) bool {
			return t.Line == r.StartLine && t.EndLine == r.EndLine && !strings.EqualFold(path.Ext(r.Path), ".json") || strings.Contains(t.Text, r.Text)
		}) {
			turns[i].Text, turns[i].Tools, any = "", nil, true
		}
	}
	return any
}

// repeatsText tells whether what stands beside a turn is of a text: all of it, or a part that was cut at either end.
func repeatsText(beside, text string) bool {
	const telling = 24 // bytes
	if beside == "" || text == "" {
		return false
	}
	head, tail := beside[:min(len(beside), telling)], beside[max(0, len(beside)-telling):]
	return strings.Contains(text, head) || strings.Contains(text, tail) || strings.Contains(beside, text[:min(len(text), telling)])
}
