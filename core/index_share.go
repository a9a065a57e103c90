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
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/store"
)

const (
	// shareTimeout bounds one call, of a few thousand records.
	shareTimeout = 30 * time.Second
	// sharedSource is entry.Source of other memories' documents.
	sharedSource = "shared"
	// sharedPrefix begins their paths, and no path of a file.
	sharedPrefix = "shared:"
)

// Values of Options.Publish.
const (
	PublishMarkdown = "markdown" // the project's Markdown
	PublishAll      = "all"      // also the conversations of agents in the project
	PublishNothing  = "nothing"  // others are read only
)

// A SharedReport counts what a run exchanged with other memories.
type SharedReport struct {
	Published int    `json:"published"` // records
	Withdrawn int    `json:"withdrawn"` // records
	Pulled    int    `json:"pulled"`    // records that others have published, changed or withdrawn
	Owners    int    `json:"owners"`    // other memories
	Problem   string `json:"problem,omitempty"`
}

// A SharedStatus says how a memory is shared.
type SharedStatus struct {
	Owner     string         `json:"owner"`     // the name of this memory among the others
	Documents map[string]int `json:"documents"` // of the others, by owner
	Pulled    time.Time      `json:"pulled,omitzero"`
	Published bool           `json:"published"` // the others can have all that is published here
}

// An exchange pulls what other memories published, and publishes.
type exchange struct {
	w        *writer
	options  Options
	received map[string][]float32 // vectors that came with records of other memories, by ID
	report   *SharedReport
}

func newExchange(w *writer) *exchange {
	return &exchange{w: w, options: w.m.options, received: map[string][]float32{}, report: &SharedReport{}}
}

// pull takes what is new, if storage is reachable.
func (x *exchange) pull(ctx context.Context) error {
	if err := x.sharedElsewhere(ctx); err != nil {
		return err
	}
	for {
		pulled, err := x.pullSome(ctx)
		x.report.Pulled += pulled
		if err != nil || pulled == 0 {
			return err
		}
		x.w.progress(Progress{Stage: "share", Done: x.report.Pulled})
	}
}

func (x *exchange) pullSome(ctx context.Context) (int, error) {
	var changes []store.Change
	var next store.Cursor
	err := inTime(ctx, func(ctx context.Context) (err error) {
		changes, next, err = x.options.Shared.Changes(ctx, x.options.Owner, x.w.manifest.Shared)
		return err
	})
	if err != nil {
		return 0, x.unshared(ctx, err)
	}
	x.report.Owners = next.Owners()
	if err := x.sameStorage(ctx, next); err != nil {
		return 0, err
	}
	byPath := map[string][]store.Change{}
	for _, change := range changes {
		if !acceptable(change) {
			x.w.m.log.Warn("skipped a record that another memory has published", "owner", change.Owner, "bytes", textBytes(change.Record))
			continue
		}
		change.Record = foreign(change)
		byPath[change.Record.Path] = append(byPath[change.Record.Path], change)
	}
	for paths := range slices.Chunk(slices.Sorted(maps.Keys(byPath)), documentsPerPull) {
		if err := x.takeOver(ctx, paths, byPath); err != nil {
			return 0, err
		}
	}
	x.w.manifest.Shared, x.w.manifest.Pulled = next, time.Now().UTC().Truncate(time.Second)
	return len(changes), x.w.manifest.save(x.w.folder)
}

func (o Options) sharedAt() string { return o.Shared.Name() + " as " + o.Owner }

// sharedElsewhere drops others' records if storage or owner changed.
func (x *exchange) sharedElsewhere(ctx context.Context) error {
	if x.w.manifest.SharedAt == x.options.sharedAt() {
		return nil
	}
	if err := x.dropForeign(ctx); err != nil {
		return err
	}
	x.w.manifest.SharedAt, x.w.manifest.Published = x.options.sharedAt(), ""
	return x.w.manifest.save(x.w.folder)
}

const documentsPerPull = 200

// sameStorage drops others' records if the storage was replaced. A new or missing one needs
// everything published.
func (x *exchange) sameStorage(ctx context.Context, next store.Cursor) error {
	known := x.w.manifest.Shared.Storage()
	if next.Storage() == 0 || next.Storage() != known {
		x.w.manifest.Published = ""
	}
	if known == 0 || next.Storage() == known {
		return nil
	}
	return x.dropForeign(ctx)
}

// dropForeign clears the cursor last: an interrupted run repeats this.
func (x *exchange) dropForeign(ctx context.Context) error {
	var foreign []string
	for path, e := range x.w.manifest.Documents {
		if e.Source == sharedSource {
			foreign = append(foreign, path)
		}
	}
	if err := x.dropDocuments(ctx, foreign); err != nil {
		return err
	}
	x.w.manifest.Shared = nil
	return x.w.manifest.save(x.w.folder)
}

// dropDocuments removes others' documents without counting them.
func (x *exchange) dropDocuments(ctx context.Context, paths []string) error {
	removed := x.w.report.Removed
	err := x.w.remove(ctx, paths)
	x.w.report.Removed = removed
	return err
}

// unshared reports an unreachable storage; only ctx's end fails.
func (x *exchange) unshared(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	x.report.Problem = err.Error()
	x.w.m.log.Warn("cannot exchange records with other memories", "error", err)
	return nil
}

const (
	charactersPerToken = 4
	// maxForeignText is in bytes; chunks are much shorter.
	maxForeignText = 32 << 10
)

// acceptable reports whether a memory like ours made a change.
func acceptable(change store.Change) bool {
	return ownerName().MatchString(change.Owner) && textBytes(change.Record) <= maxForeignText
}

func textBytes(r store.Record) int {
	n := len(r.Text) + len(r.Before) + len(r.After) + len(r.Speaker) + len(r.Session) + len(r.Path)
	for _, heading := range r.Headings {
		n += len(heading)
	}
	return n
}

// foreign checks the untrusted fields of a record.
func foreign(change store.Change) store.Record {
	r := change.Record
	sum := sha256.Sum256([]byte(change.Owner + "\x00" + r.ID))
	r.ID = hex.EncodeToString(sum[:16])
	r.Path = sharedPrefix + change.Owner + "/" + r.Path
	r.StartLine, r.EndLine = max(r.StartLine, 1), max(r.EndLine, r.StartLine, 1)
	r.Tokens = max(r.Tokens, len(r.Text)/charactersPerToken) // a budget counts it
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

// takeOver leaves the vectors pending.
func (x *exchange) takeOver(ctx context.Context, paths []string, changes map[string][]store.Change) error {
	for _, path := range paths {
		if _, known := x.w.manifest.Documents[path]; !known {
			r := changes[path][0].Record
			x.w.manifest.Documents[path] = entry{Source: sharedSource, Kind: r.Kind, Scope: r.Scope}
		}
	}
	if err := x.w.markUnsure(paths); err != nil {
		return err
	}
	for _, path := range paths {
		for _, change := range changes[path] {
			if err := x.change(ctx, change); err != nil {
				return x.w.discard(err)
			}
		}
	}
	if err := x.w.keywords.Commit(ctx); err != nil {
		return x.w.discard(err)
	}
	return x.recount(ctx, paths)
}

func (x *exchange) change(ctx context.Context, change store.Change) error {
	r := change.Record
	if change.Gone {
		return x.w.keywords.Delete(ctx, []string{r.ID})
	}
	if x.options.Embedder != nil && change.Embedder == x.options.Embedder.Fingerprint() && x.fits(r.Vector) {
		x.received[r.ID] = r.Vector
	}
	r.Vector = nil
	return x.w.keywords.Put(ctx, []store.Record{r})
}

// fits reports whether our embedder can have made a vector.
func (x *exchange) fits(vector []float32) bool {
	square := 0.0
	for _, c := range vector {
		square += float64(c) * float64(c)
	}
	want := cmp.Or(x.w.manifest.Dimension, x.options.Embedder.Dimension())
	return len(vector) == want && want > 0 && math.Abs(square-1) < 1e-3
}

// recount updates the manifest from the keyword index.
func (x *exchange) recount(ctx context.Context, paths []string) error {
	var empty []string
	for _, path := range paths {
		records, err := x.w.keywords.Document(ctx, path)
		if err != nil {
			return err
		}
		e := x.w.manifest.Documents[path]
		e.Chunks, e.Pending, e.Unsure = len(records), true, false
		x.w.manifest.Documents[path] = e
		if len(records) == 0 {
			empty = append(empty, path)
		}
	}
	err := x.dropDocuments(ctx, empty)
	return errors.Join(err, x.w.manifest.save(x.w.folder))
}

// publish warns if storage is unreachable; the next run retries.
func (x *exchange) publish(ctx context.Context) error {
	if x.w.manifest.Published == x.options.Publish || x.report.Problem != "" {
		return nil
	}
	var owned []store.Record
	err := inTime(ctx, func(ctx context.Context) (err error) {
		owned, err = x.options.Shared.Owned(ctx, x.options.Owner)
		return err
	})
	if err != nil {
		return x.unshared(ctx, err)
	}
	ours, whole, err := x.ours(ctx)
	if err != nil {
		return err
	}
	put, ids := difference(owned, ours)
	isGone := map[string]bool{}
	for _, id := range ids {
		isGone[id] = true
	}
	gone := slices.DeleteFunc(owned, func(r store.Record) bool { return !isGone[r.ID] })
	// Withdrawals go first, so that a document changes in one step.
	for len(put)+len(gone) > 0 {
		some := put[:min(len(put), chunksPerCommit)]
		embedder := x.embedded(ctx, some)
		err := inTime(ctx, func(ctx context.Context) error {
			return x.options.Shared.Publish(ctx, x.options.Owner, embedder, some, gone)
		})
		if err != nil {
			return x.unshared(ctx, err)
		}
		x.report.Published += len(some)
		x.report.Withdrawn += len(gone)
		put, gone = put[len(some):], nil
	}
	if whole {
		x.w.manifest.Published = x.options.Publish
	}
	return x.w.manifest.save(x.w.folder)
}

func inTime(ctx context.Context, f func(context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, shareTimeout)
	defer stop()
	return f(ctx)
}

// whole is false if a document is Unsure.
func (x *exchange) ours(ctx context.Context) (records []store.Record, whole bool, err error) {
	whole = true
	for _, path := range slices.Sorted(maps.Keys(x.w.manifest.Documents)) {
		e := x.w.manifest.Documents[path]
		if !x.options.publishes(path, e) {
			continue
		}
		whole = whole && !e.Unsure
		some, err := x.w.keywords.Document(ctx, path)
		if err != nil {
			return nil, false, err
		}
		records = append(records, some...)
	}
	return records, whole, nil
}

// embedded fills in cached vectors and returns their embedder's fingerprint.
func (x *exchange) embedded(ctx context.Context, records []store.Record) string {
	if x.options.Embedder == nil {
		return ""
	}
	for some := range slices.Chunk(records, chunksPerEmbed) {
		texts := make([]string, len(some))
		for i, r := range some {
			texts[i] = embeddingText(r)
		}
		vectors, err := x.w.m.embedder.documents(ctx, texts)
		if err != nil {
			return "" // the others make their own
		}
		for i := range some {
			some[i].Vector = vectors[i]
		}
	}
	return x.options.Embedder.Fingerprint()
}

// publishes leaves out Markdown outside the workspace, ".local.md" files and what was said in
// sessions.
func (o Options) publishes(path string, e entry) bool {
	if e.Source == sharedSource || e.Scope != source.ScopeProject || o.Publish == PublishNothing {
		return false
	}
	if e.Kind == source.KindMarkdown {
		return filepath.IsLocal(filepath.FromSlash(path)) && !strings.HasPrefix(path, "~") && !paths.IsPrivate(path) && !isStated(path)
	}
	return o.Publish == PublishAll
}

func (o Options) isForeign(e entry) bool { return e.Source == sharedSource && o.Owner != "" }

// sharedStatus returns nil if the memory is not shared.
func (o Options) sharedStatus(known *manifest) *SharedStatus {
	if o.Owner == "" {
		return nil
	}
	status := &SharedStatus{Owner: o.Owner, Documents: map[string]int{}, Pulled: known.Pulled, Published: known.Published == o.Publish}
	for path, e := range known.Documents {
		if e.Source == sharedSource {
			owner, _, _ := strings.Cut(strings.TrimPrefix(path, sharedPrefix), "/")
			status.Documents[owner]++
		}
	}
	return status
}

func checkSharing(o Options) error {
	switch {
	case o.Shared != nil && o.Owner == "":
		return errors.New("open memory: Options.Shared needs Options.Owner, the name of this memory among the others")
	case !slices.Contains([]string{"", PublishMarkdown, PublishAll, PublishNothing}, o.Publish):
		return fmt.Errorf("open memory: Options.Publish is %q, want %q, %q or %q", o.Publish, PublishMarkdown, PublishAll, PublishNothing)
	case o.Owner != "" && !ownerName().MatchString(o.Owner):
		return fmt.Errorf("open memory: owner %q has characters other than letters, digits, '.', '_' and '-'", o.Owner)
	}
	return nil
}

var ownerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]+$`) })
