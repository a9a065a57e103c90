package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/keyword"
)

const (
	// embedWait bounds how long a write waits for vectors. Those that are not there by then are
	// made later; words find the document at once.
	embedWait = 100 * time.Millisecond
	// maxEmbedded bounds the passages of a write that waits for vectors.
	maxEmbedded = 32
	// maxPassages bounds those of a document. One of 8 MB has some 8,000, but each short section is
	// one, too.
	maxPassages = 20_000
	// A passage takes a kilobyte or two in the database, however short it is. Beyond some, each
	// counts for bytes of the tenant that its text would have.
	weightOfPassage = 256
	freePassages    = 10
	// maxWritten bounds the passages that a write of several documents makes: each takes some 3 KB of
	// memory until it is written.
	maxWritten = 50_000
)

// An edit gives a document another text, or removes it.
type edit struct {
	path, text string
	gone       bool
	forget     bool // earlier texts are not kept, either
	service.Condition
}

// maxTries bounds how often a change is made again since others have changed the same document.
const maxTries = 10

// write makes edits, whose rights were judged, all or none, and returns the version that has them.
func (n *Node) write(ctx context.Context, p service.Principal, edits []edit) (version int64, err error) {
	m, err := n.modelOf(p.Settings)
	if err != nil {
		return 0, err
	}
	limits := n.Limits(p)
	for range maxTries {
		var changes []postgres.Change
		if changes, err = n.prepare(ctx, p, m, edits); err != nil {
			return 0, err
		}
		var versions []int64
		versions, err = n.o.DB.Write(ctx, p.Of, changes, postgres.Write{By: p.User + "/" + p.Key, Embedder: m.fingerprint(), Cut: m.cutter.Fingerprint(),
			MaxDocuments: limits.MaxDocuments, MaxBytes: limits.MaxBytes, Keep: n.o.Keep})
		if len(versions) > 0 {
			version = slices.Max(versions)
		}
		if !errors.Is(err, postgres.ErrChanged) {
			break
		}
	}
	if errors.Is(err, postgres.ErrFull) {
		err = &httpapi.Error{Status: http.StatusTooManyRequests, Message: err.Error()}
	}
	return version, err
}

// prepare makes changes of edits, from the documents as they are now.
func (n *Node) prepare(ctx context.Context, p service.Principal, m *model, edits []edit) ([]postgres.Change, error) {
	paths := make([]string, len(edits))
	for i, e := range edits {
		paths[i] = e.path
	}
	now := time.Now().UTC().Truncate(time.Second)
	changes := make([]postgres.Change, 0, len(edits))
	var made []*store.Record // without vectors
	for state, err := range n.o.DB.States(ctx, p.Of, paths) {
		if err != nil {
			return nil, err
		}
		e := edits[len(changes)]
		if err := e.holds(state.Version); err != nil {
			return nil, err
		}
		c := postgres.Change{Path: e.path, Gone: e.gone, Forget: e.forget, Base: state.Version}
		if !e.gone {
			if err := m.cut(ctx, &c, e.text, state.Records, now); err != nil {
				return nil, fmt.Errorf("%s: %w", e.path, err)
			}
		}
		for j := range c.Records {
			made = append(made, &c.Records[j])
		}
		if len(made) > maxWritten {
			return nil, kind.Usagef("the documents have more than %d new passages together; write them in several steps", maxWritten)
		}
		changes = append(changes, c)
	}
	n.embedNow(ctx, p, m, made)
	return changes, nil
}

// holds compares the version of a document with the condition of an edit.
func (e edit) holds(version int64) error {
	switch {
	case e.New && version != 0:
		return kind.As(kind.Conflict, fmt.Errorf("there is a document %s already, version %d", e.path, version))
	case e.Match != 0 && version != e.Match:
		return kind.As(kind.Conflict, fmt.Errorf("%s has the version %d, not %d", e.path, version, e.Match))
	case e.gone && version == 0:
		return errNoDocument(e.path)
	}
	return nil
}

// cut fills in what the database keeps of a document with a text. Secrets do not enter it.
func (m *model) cut(ctx context.Context, c *postgres.Change, text string, former []store.Record, now time.Time) error {
	c.Text, _ = notes.Clean(text)
	scope := source.ScopeProject
	if !place(c.Path).ofSeveral() {
		scope = source.ScopeGlobal
	}
	var cut core.Cut
	doc, content, err := source.Parse(ctx, source.Document{Path: c.Path, Scope: scope, ModTime: now}, []byte(c.Text))
	switch {
	case errors.Is(err, source.ErrNoDocument): // it is kept, but nobody finds it
	case err != nil:
		return err
	default:
		if cut, err = m.cutter.Cut(doc, content); err != nil {
			return err
		}
		if len(cut.Records) > maxPassages {
			return kind.Usagef("it has %d passages, such as sections; a document has at most %d: make several of it", len(cut.Records), maxPassages)
		}
		if c.Indexed, err = json.Marshal(cut.Document); err != nil {
			return err
		}
		c.Digest = cut.Digest
	}
	c.Weight = len(c.Text) + weightOfPassage*max(0, len(cut.Records)-freePassages-len(c.Text)/weightOfPassage)
	c.Records, c.Removed = cut.Replace(former)
	for _, words := range keyword.Analyse(c.Records) {
		c.Words = append(c.Words, words.Append(nil))
	}
	return nil
}

// embedNow makes the vectors of a small write, if that is quick.
func (n *Node) embedNow(ctx context.Context, p service.Principal, m *model, records []*store.Record) {
	if m.embedder == nil || len(records) == 0 || len(records) > maxEmbedded {
		return
	}
	select {
	case n.embedding <- struct{}{}:
		defer func() { <-n.embedding }()
	default:
		return // others wait for the processors already
	}
	ctx, stop := context.WithTimeout(ctx, embedWait)
	defer stop()
	made := make([]store.Record, len(records))
	for i, r := range records {
		made[i] = *r
	}
	if _, err := core.EmbedRecords(ctx, n.metered(p.Of.Tenant.ID, p.Settings, m.embedder), made); err != nil {
		return // they wait in the queue
	}
	for i := range made {
		records[i].Vector = made[i].Vector
	}
}

// Pace of embedding later.
const (
	lookEvery  = 250 * time.Millisecond
	lease      = time.Minute
	maxFailing = 8 // jobs, one after another
	restAfter  = 5 * time.Second
)

// embedLater makes the vectors that writes did not wait for, of all tenants.
func (n *Node) embedLater(ctx context.Context) {
	pause, failing := time.Duration(0), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		jobs, err := n.o.DB.Pending(ctx, 1, lease)
		pause = 0
		if len(jobs) == 0 {
			pause = lookEvery
		}
		for _, j := range jobs {
			err = errors.Join(err, n.o.DB.Hold(ctx, j, lease, func(ctx context.Context) error { return n.embedJob(ctx, j) }))
		}
		if err == nil {
			failing = 0
			continue
		}
		if failing++; failing >= maxFailing || len(jobs) == 0 {
			failing, pause = 0, restAfter
		}
		if ctx.Err() == nil {
			n.o.Logger.Warn("documents wait for their vectors, and words find them", "error", err)
		}
	}
}

func (n *Node) embedJob(ctx context.Context, j postgres.Job) error {
	s, m, err := n.of(j.Tenant)
	if err != nil {
		return err
	}
	if m.fingerprint() != j.Embedder {
		return nil // the tenant gets another embedder at this moment, for which it is queued again
	}
	vectors := map[string][]float32{}
	if m.embedder != nil && len(j.Records) > 0 {
		setAside, err := core.EmbedRecords(ctx, n.metered(j.Tenant.ID, s, m.embedder), j.Records)
		if err != nil {
			return fmt.Errorf("embed %s of tenant %s: %w", j.Path, j.Tenant.Name, err)
		}
		for i, r := range j.Records {
			if _, aside := setAside[i]; !aside {
				vectors[r.ID] = r.Vector
			}
		}
	}
	return n.o.DB.Embedded(ctx, j, vectors)
}

// metered counts the tokens of documents that this node embeds for a tenant.
func (n *Node) metered(tenant int64, s service.Settings, e embed.Embedder) embed.Embedder {
	if most := or(s.Limits, n.o.Limits).MaxEmbedded; most > 0 {
		return metered{e, n.meters.of(tenant, most)}
	}
	return e
}

// Limits implements service.Node.
func (n *Node) Limits(p service.Principal) service.Limits { return or(p.Settings.Limits, n.o.Limits) }

// Usage implements service.Node.
func (n *Node) Usage(ctx context.Context, p service.Principal) (service.Usage, error) {
	u, err := n.o.DB.Usage(ctx, p.Of.Tenant.ID)
	return service.Usage{Documents: u.Documents, Bytes: u.Bytes, History: u.Kept, Limits: n.Limits(p), Embedder: p.Settings.Embedder, Model: p.Settings.Model}, hide(n.o.Logger, err)
}

// errNoDocument is the error for a path without a document.
func errNoDocument(path string) error {
	return kind.As(kind.NotFound, fmt.Errorf("there is no document %.200q", path))
}
