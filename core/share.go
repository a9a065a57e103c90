package core

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/store"
)

const (
	// shareTimeout is how long a run of indexing waits for the others' storage to take or give the next
	// few thousand records. What it has done by then is kept.
	shareTimeout = 30 * time.Second
	// sharedSource is entry.Source of documents that another memory has published.
	sharedSource = "shared"
	// sharedPrefix begins their paths; no file has a path that does.
	sharedPrefix = "shared:"
)

// Values of Options.Publish.
const (
	PublishMarkdown = "markdown" // the project's Markdown
	PublishAll      = "all"      // also the conversations of agents in the project
	PublishNothing  = "nothing"  // others are read only
)

// A SharedReport says what a run gave to the other memories and got from them.
type SharedReport struct {
	Published int    `json:"published"` // records
	Withdrawn int    `json:"withdrawn"` // records
	Pulled    int    `json:"pulled"`    // records that others have published, changed or withdrawn
	Owners    int    `json:"owners"`    // others there are
	Problem   string `json:"problem,omitempty"`
}

// A SharedStatus says how a memory is shared.
type SharedStatus struct {
	Owner     string         `json:"owner"`     // the name of this memory among the others
	Documents map[string]int `json:"documents"` // of the others, by owner
	Pulled    time.Time      `json:"pulled,omitzero"`
	Published bool           `json:"published"` // the others can know all that is here
}

// pull takes over what other memories have published since the last time, as documents of their own.
// Storage that cannot be reached costs a warning.
func (w *writer) pull(ctx context.Context) error {
	if err := w.sharedElsewhere(ctx); err != nil {
		return err
	}
	for {
		pulled, err := w.pullSome(ctx)
		w.report.Shared.Pulled += pulled
		if err != nil || pulled == 0 {
			return err
		}
		w.progress(Progress{Stage: "share", Done: w.report.Shared.Pulled})
	}
}

// pullSome takes over the next of what others have published, and returns how many records.
func (w *writer) pullSome(ctx context.Context) (int, error) {
	var changes []store.Change
	var next store.Cursor
	err := w.inTime(ctx, func(ctx context.Context) (err error) {
		changes, next, err = w.m.options.Shared.Changes(ctx, w.m.options.Owner, w.manifest.Shared)
		return err
	})
	if err != nil {
		return 0, w.unshared(ctx, err)
	}
	w.report.Shared.Owners = next.Owners()
	if err := w.sameStorage(ctx, next); err != nil {
		return 0, err
	}
	byPath := map[string][]store.Change{}
	for _, change := range changes {
		if !acceptable(change) {
			w.m.log.Warn("memory leaves out what another has published", "owner", change.Owner, "bytes", textBytes(change.Record))
			continue
		}
		change.Record = foreign(change)
		byPath[change.Record.Path] = append(byPath[change.Record.Path], change)
	}
	for paths := range slices.Chunk(slices.Sorted(maps.Keys(byPath)), documentsPerPull) {
		if err := w.takeOver(ctx, paths, byPath); err != nil {
			return 0, err
		}
	}
	w.manifest.Shared, w.manifest.Pulled = next, time.Now().UTC().Truncate(time.Second)
	return len(changes), w.manifest.save(w.folder)
}

// sharedAt names the others, and this memory among them.
func (m *Manager) sharedAt() string { return m.options.Shared.Name() + " as " + m.options.Owner }

// sharedElsewhere begins anew if the memory was shared with others before, or under another name.
func (w *writer) sharedElsewhere(ctx context.Context) error {
	if w.manifest.SharedAt == w.m.sharedAt() {
		return nil
	}
	if err := w.forgetAll(ctx); err != nil {
		return err
	}
	w.manifest.SharedAt, w.manifest.Shared, w.manifest.Published = w.m.sharedAt(), nil, ""
	return w.manifest.save(w.folder)
}

const documentsPerPull = 200

// sameStorage begins anew if the storage is not the one that was known, or does not exist yet.
func (w *writer) sameStorage(ctx context.Context, next store.Cursor) error {
	known := w.manifest.Shared.Storage()
	if next.Storage() == 0 || next.Storage() != known {
		w.manifest.Published = ""
	}
	if known == 0 || next.Storage() == known {
		return nil
	}
	if err := w.forgetAll(ctx); err != nil {
		return err
	}
	w.manifest.Shared = nil // only now: a run that ends in between begins this again
	return w.manifest.save(w.folder)
}

func (w *writer) forgetAll(ctx context.Context) error {
	var foreign []string
	for path, e := range w.manifest.Documents {
		if e.Source == sharedSource {
			foreign = append(foreign, path)
		}
	}
	return w.forget(ctx, foreign)
}

// forget removes documents of others, which is told as pulled.
func (w *writer) forget(ctx context.Context, paths []string) error {
	removed := w.report.Removed
	err := w.remove(ctx, paths)
	w.report.Removed = removed
	return err
}

// unshared notes that the others cannot be reached; only the end of ctx is an error.
func (w *writer) unshared(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.report.Shared.Problem = err.Error()
	w.m.log.Warn("memory is not shared now", "error", err)
	return nil
}

const (
	charactersPerToken = 4
	// maxForeignText is the longest record of another memory that is taken over, in bytes of all its texts;
	// chunks have a small part of it.
	maxForeignText = 32 << 10
)

// acceptable tells whether a change can come from a memory like ours.
func acceptable(change store.Change) bool {
	return change.Owner != "" && badOwner(change.Owner) == "" && textBytes(change.Record) <= maxForeignText
}

// textBytes is how much a record says in all.
func textBytes(r store.Record) int {
	n := len(r.Text) + len(r.Before) + len(r.After) + len(r.Speaker) + len(r.Session) + len(r.Path)
	for _, heading := range r.Headings {
		n += len(heading)
	}
	return n
}

// foreign is the record of another memory as it is kept here. It comes from outside: what we go by is
// checked, the rest is data.
func foreign(change store.Change) store.Record {
	r := change.Record
	sum := sha256.Sum256([]byte(change.Owner + "\x00" + r.ID))
	r.ID = hex.EncodeToString(sum[:16])
	r.Path = sharedPrefix + change.Owner + "/" + r.Path
	r.StartLine, r.EndLine = max(r.StartLine, 1), max(r.EndLine, r.StartLine, 1)
	r.Tokens = max(r.Tokens, len(r.Text)/charactersPerToken) // what a budget counts is not theirs to say
	if year := r.Time.Year(); year < 1970 || year > 9999 {
		r.Time = time.Time{}
	}
	if r.Scope != source.ScopeGlobal {
		r.Scope = source.ScopeProject
	}
	if r.Kind != source.KindConversation {
		r.Kind = source.KindMarkdown
	}
	return r
}

// takeOver applies the changes of some documents to the keyword index; vectors follow as for any
// pending document.
func (w *writer) takeOver(ctx context.Context, paths []string, changes map[string][]store.Change) error {
	for _, path := range paths {
		if _, known := w.manifest.Documents[path]; !known {
			r := changes[path][0].Record
			w.manifest.Documents[path] = entry{Source: sharedSource, Kind: r.Kind, Scope: r.Scope}
		}
	}
	if err := w.doubt(paths); err != nil {
		return err
	}
	for _, path := range paths {
		for _, change := range changes[path] {
			if err := w.change(ctx, change); err != nil {
				return w.dropped(err)
			}
		}
	}
	if err := w.keywords.Commit(ctx); err != nil {
		return w.dropped(err)
	}
	return w.recount(ctx, paths)
}

func (w *writer) change(ctx context.Context, change store.Change) error {
	r := change.Record
	if change.Gone {
		return w.keywords.Delete(ctx, []string{r.ID})
	}
	if w.m.options.Embedder != nil && change.Embedder == w.m.options.Embedder.Fingerprint() && w.fits(r.Vector) {
		w.given[r.ID] = r.Vector
	}
	r.Vector = nil
	return w.keywords.Put(ctx, []store.Record{r})
}

// fits tells whether a vector of another memory can be one of ours.
func (w *writer) fits(vector []float32) bool {
	square := 0.0
	for _, x := range vector {
		square += float64(x) * float64(x)
	}
	want := cmp.Or(w.manifest.Dimension, w.m.options.Embedder.Dimension())
	return len(vector) == want && want > 0 && math.Abs(square-1) < 1e-3
}

// recount brings the manifest in step with what the keyword index now has of documents.
func (w *writer) recount(ctx context.Context, paths []string) error {
	var empty []string
	for _, path := range paths {
		records, err := w.keywords.Document(ctx, path)
		if err != nil {
			return err
		}
		e := w.manifest.Documents[path]
		e.Chunks, e.Pending, e.Unsure = len(records), true, false
		w.manifest.Documents[path] = e
		if len(records) == 0 {
			empty = append(empty, path)
		}
	}
	err := w.forget(ctx, empty)
	return errors.Join(err, w.manifest.save(w.folder))
}

// publish makes what has changed here known to the others. Storage that cannot be reached costs a
// warning; the next run tries again.
func (w *writer) publish(ctx context.Context) error {
	if w.manifest.Published == w.m.publishChoice() || w.report.Shared.Problem != "" {
		return nil
	}
	var owned []store.Record
	err := w.inTime(ctx, func(ctx context.Context) (err error) {
		owned, err = w.m.options.Shared.Owned(ctx, w.m.options.Owner)
		return err
	})
	if err != nil {
		return w.unshared(ctx, err)
	}
	ours, whole, err := w.ours(ctx)
	if err != nil {
		return err
	}
	put, ids := difference(owned, ours)
	gone := withIDs(owned, ids)
	// What is withdrawn goes with the first batch: a document that changed does so in one step.
	for len(put)+len(gone) > 0 {
		some := put[:min(len(put), chunksPerCommit)]
		embedder := w.embedded(ctx, some)
		err := w.inTime(ctx, func(ctx context.Context) error {
			return w.m.options.Shared.Publish(ctx, w.m.options.Owner, embedder, some, gone)
		})
		if err != nil {
			return w.unshared(ctx, err)
		}
		w.report.Shared.Published += len(some)
		w.report.Shared.Withdrawn += len(gone)
		put, gone = put[len(some):], nil
	}
	if whole {
		w.manifest.Published = w.m.publishChoice()
	}
	return w.manifest.save(w.folder)
}

// inTime gives a storage so long to do something.
func (w *writer) inTime(ctx context.Context, f func(context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, shareTimeout)
	defer stop()
	return f(ctx)
}

// ours are the records of our own documents; whole is false if some document is to be read again.
func (w *writer) ours(ctx context.Context) (records []store.Record, whole bool, err error) {
	whole = true
	for _, path := range slices.Sorted(maps.Keys(w.manifest.Documents)) {
		e := w.manifest.Documents[path]
		if !w.m.publishes(path, e) {
			continue
		}
		whole = whole && !e.Unsure
		some, err := w.keywords.Document(ctx, path)
		if err != nil {
			return nil, false, err
		}
		records = append(records, some...)
	}
	return records, whole, nil
}

// embedded fills in vectors, which come from the embedder's cache since these texts have just been
// embedded, and returns what made them; "" if there are none.
func (w *writer) embedded(ctx context.Context, records []store.Record) string {
	if w.m.options.Embedder == nil {
		return ""
	}
	for some := range slices.Chunk(records, chunksPerEmbed) {
		texts := make([]string, len(some))
		for i, r := range some {
			texts[i] = embeddingText(r)
		}
		vectors, err := w.m.embedDocuments(ctx, texts)
		if err != nil {
			return "" // the others make their own
		}
		for i := range some {
			some[i].Vector = vectors[i]
		}
	}
	return w.m.options.Embedder.Fingerprint()
}

func (m *Manager) publishChoice() string { return cmp.Or(m.options.Publish, PublishMarkdown) }

// publishes tells whether others get a document. Markdown outside of the workspace, such as what was
// registered from elsewhere or what agents keep in the home folder, is the person's own, and so are ".local.md" files.
func (m *Manager) publishes(path string, e entry) bool {
	if e.Source == sharedSource || e.Scope != source.ScopeProject || m.options.Publish == PublishNothing {
		return false
	}
	if e.Kind == source.KindMarkdown {
		return filepath.IsLocal(filepath.FromSlash(path)) && !strings.HasPrefix(path, "~") && !paths.IsPrivate(path)
	}
	return m.options.Publish == PublishAll
}

func withIDs(records []store.Record, ids []string) []store.Record {
	wanted := map[string]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	var chosen []store.Record
	for _, r := range records {
		if wanted[r.ID] {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

// shares tells whether the memory is shared and the others can be reached from this build.
func (m *Manager) shares() bool { return m.options.Shared != nil }

// isForeign tells whether a document came from another memory and stays here.
func (m *Manager) isForeign(e entry) bool { return e.Source == sharedSource && m.options.Owner != "" }

// sharedStatus says how the memory is shared; nil if it is not.
func (m *Manager) sharedStatus(known *manifest) *SharedStatus {
	if m.options.Owner == "" {
		return nil
	}
	status := &SharedStatus{Owner: m.options.Owner, Documents: map[string]int{}, Pulled: known.Pulled, Published: known.Published == m.publishChoice()}
	for path, e := range known.Documents {
		if e.Source == sharedSource {
			owner, _, _ := strings.Cut(strings.TrimPrefix(path, sharedPrefix), "/")
			status.Documents[owner]++
		}
	}
	return status
}

// checkSharing says what is wrong with the options for sharing.
func checkSharing(o Options) error {
	switch {
	case o.Shared != nil && o.Owner == "":
		return errors.New("open memory: Options.Shared needs Options.Owner, the name of this memory among the others")
	case !slices.Contains([]string{"", PublishMarkdown, PublishAll, PublishNothing}, o.Publish):
		return fmt.Errorf("open memory: Options.Publish is %q, want %q, %q or %q", o.Publish, PublishMarkdown, PublishAll, PublishNothing)
	case badOwner(o.Owner) != "":
		return fmt.Errorf("open memory: owner %q has characters other than letters, digits, '.', '_' and '-'", o.Owner)
	}
	return nil
}

// badOwner is what of a name is left without the characters that owners have.
func badOwner(owner string) string {
	return strings.Trim(owner, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
}
