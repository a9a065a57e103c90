// Package tenants keeps the memories of many tenants on one node of a service.
//
// The truth about a tenant is a log of documents on shared storage (store.Changelog). A node opens
// a tenant when it is first asked for it: a mirror, a folder with the documents as files, and on
// that folder the memory that a laptop would have. What a request changes in the files is appended
// to the log before the request is answered. Everything on a node can be made again.
//
// A tenant is an argument of whatever is opened here, and a folder of its own in the storage and on
// the node. In a tenant there is a folder that all users share, one for each team, and one for each
// user. The memory of a principal is made of the shared one, those of its teams and the user's own,
// and has no other file in it: a user with other teams has another memory.
package tenants

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"go.opentelemetry.io/otel/trace"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/service"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/oidc"
	"github.com/memcore/memcore/store"
)

// Options are the settings of a Node. Open, Objects, Registry, Dir and Workspace are needed.
type Options struct {
	// Open opens the logs of the storage by their paths (Documents, Vectors).
	Open func(path string) store.Changelog
	// Objects have copies of documents and of indexes.
	Objects  store.Objects
	Registry *Registry
	// Tokens verifies those of an issuer; nil if only keys count.
	Tokens *oidc.Verifier
	Dir    string // of what this node can make again; one process uses it
	// Workspace has the settings of all tenants.
	Workspace *app.Workspace
	// Freshness is how old an answer may be.
	Freshness time.Duration
	// MostOpen bounds the tenants that stay on this node while nobody asks for them; 0 is 1000.
	MostOpen int
	// Limits are those of tenants that have none of their own; 0 is none.
	Limits service.Limits
	// Audit gets a line for each call over MCP; may be nil.
	Audit *service.AuditLog
	// Traces gets spans of calls over MCP; may be nil.
	Traces trace.TracerProvider
	Logger *slog.Logger
}

// objectsOf is the folder in the storage of what a tenant has.
func objectsOf(id string) string { return "tenants/" + id }

// Documents is the path of the log with a tenant's documents.
func Documents(id string) string { return objectsOf(id) + "/documents" }

// Vectors is the path of the log with the vectors of a tenant's documents.
func Vectors(id string) string { return objectsOf(id) + "/vectors" }

// Delete removes what the storage has of a tenant, which the registry no longer has, and returns
// how many of its objects are left.
func Delete(ctx context.Context, open func(path string) store.Changelog, objects store.Objects, id string) (left int, err error) {
	if err := errors.Join(open(Documents(id)).Drop(ctx), open(Vectors(id)).Drop(ctx)); err != nil {
		return 0, err
	}
	return objects.RemoveAll(ctx, objectsOf(id))
}

// A Node implements service.Node. It is safe for concurrent use.
type Node struct{ *pool }

// A pool has the tenants that are on this node.
type pool struct {
	o        Options
	lock     *flock.Flock // of the folder
	memories *httpapi.Server

	life context.Context // of what is done aside
	stop context.CancelFunc
	work sync.WaitGroup // of what is done aside

	mu      sync.Mutex
	tenants map[string]*tenant // by ID
	closed  bool
}

var _ service.Node = (*Node)(nil)

// A tenant is open, or being opened.
type tenant struct {
	id     string
	dir    string
	ready  chan struct{} // closed when it is open, or cannot be
	err    error
	mirror *mirror
	shelf  func(w *app.Workspace, later bool) *shelf // opens it for the embedder of w
	meter  *meter
	used   time.Time
	users  int           // requests and open memories
	gone   bool          // it was removed from the service
	left   chan struct{} // while it is being removed from this node; closed when it was

	mu     sync.Mutex
	agents map[string]*agent // MCP servers, by agentOf
	// snapshots are on their way here, by the name of their owner.
	snapshots map[string]*fetched
}

// NewNode returns a node. Close ends it.
func NewNode(o Options) (*Node, error) {
	if err := (Settings{Limits: o.Limits}).check(); err != nil {
		return nil, err
	}
	if o.MostOpen == 0 {
		o.MostOpen = 1000
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "tenants"), 0o700); err != nil {
		return nil, fmt.Errorf("folder of the node: %w", err)
	}
	if o.Dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(o.Dir, "lock"), flock.SetPermissions(0o600))
	if alone, err := lock.TryLock(); err != nil || !alone {
		return nil, errors.Join(err, fmt.Errorf("another process uses the folder %s: name another one with --dir", o.Dir))
	}
	n := &pool{o: o, lock: lock, tenants: map[string]*tenant{}}
	n.memories = httpapi.New(httpapi.Options{Open: n.openFolder, WorkspaceOf: func(folder string) (string, error) { return folder, nil },
		Version: o.Workspace.Version, MaxAtOnce: 256, MaxOpen: o.MostOpen, PerSecond: 1e6, Logger: o.Logger}, func() {})
	o.Registry.onRemoval(func(t Tenant) { n.forget(t.ID) })
	n.life, n.stop = context.WithCancel(context.Background())
	n.work.Go(func() { sweeper{n}.lookForRemovals(n.life) })
	return &Node{n}, nil
}

// A sweeper makes a node learn of tenants that were removed from the service.
type sweeper struct{ *pool }

// looksPerFreshness is how rarely an idle node looks for tenants that were removed.
const looksPerFreshness = 10

// lookForRemovals makes an idle node, too, learn of tenants that were removed, until ctx ends. A
// node that may have missed a removal asks for each tenant that it has.
func (n sweeper) lookForRemovals(ctx context.Context) {
	for looked := (time.Time{}); ; {
		begun := time.Now()
		candidates := n.removedLately
		if begun.Sub(looked) > removalsKept/2 {
			candidates = n.onDisk
		}
		err := n.forgetRemoved(ctx, candidates(ctx))
		if err == nil {
			looked = begun
		} else if ctx.Err() == nil {
			n.o.Logger.Warn("it is unknown which tenants were removed", "error", err)
		}
		select {
		case <-time.After(max(looksPerFreshness*n.o.Freshness, time.Second)):
		case <-ctx.Done():
			return
		}
	}
}

// onDisk yields the IDs of tenants that this node has.
func (n sweeper) onDisk(context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := os.ReadDir(filepath.Join(n.o.Dir, "tenants"))
		if err != nil {
			yield("", err)
			return
		}
		for _, entry := range entries {
			if !yield(entry.Name(), nil) {
				return
			}
		}
	}
}

// removedLately yields the IDs of tenants that this node has and that were removed lately.
func (n sweeper) removedLately(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for id, err := range n.o.Registry.removals(ctx) {
			if err == nil && !n.has(id) {
				continue
			}
			if !yield(id, err) {
				return
			}
		}
	}
}

func (n sweeper) has(id string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tenants[id] != nil {
		return true
	}
	_, err := os.Lstat(filepath.Join(n.o.Dir, "tenants", filepath.Base(id)))
	return err == nil
}

// forgetRemoved forgets those of some tenants that are no longer.
func (n sweeper) forgetRemoved(ctx context.Context, ids iter.Seq2[string, error]) error {
	for id, err := range ids {
		exists := false
		if err == nil {
			exists, err = n.o.Registry.Exists(ctx, id)
		}
		if err != nil {
			return err
		}
		if !exists {
			n.forget(id)
		}
	}
	return nil
}

// errRemoved answers who had a key of a tenant until now.
var errRemoved = kind.As(kind.NotFound, errors.New("the tenant was removed"))

// forget removes what this node has of a tenant that was removed from the service, after the
// requests that still run.
func (n *pool) forget(id string) {
	if t := n.leaving(id); t != nil {
		n.memories.Shrink() // an open memory uses it
		n.dropGone(t)
	}
}

// leaving returns a tenant that dropGone removes; nil if the node has ended.
func (n *pool) leaving(id string) *tenant {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	t := n.tenants[id]
	if t == nil { // it may be on the disk
		t = n.newTenant(id)
		t.err = errRemoved
		close(t.ready)
		n.tenants[id] = t
	}
	t.gone = true
	return t
}

// dropGone removes a tenant that is gone and that nobody uses.
func (n *pool) dropGone(t *tenant) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !t.gone || t.users > 0 || t.left != nil || n.closed {
		return
	}
	t.left = make(chan struct{})
	n.work.Go(func() { n.drop(t) })
}

// Memories answers for the folders that Folder returns.
func (n *pool) Memories() *httpapi.Server { return n.memories }

// Close waits for running requests and writes, and closes all tenants.
func (n *pool) Close() error {
	n.stop()
	n.memories.Close()
	n.mu.Lock()
	n.closed = true // from now on no work begins
	var all []*tenant
	for _, t := range n.tenants {
		all = append(all, t)
	}
	n.mu.Unlock()
	var err error
	for _, t := range all {
		<-t.ready
		n.mu.Lock()
		left := t.left
		n.mu.Unlock()
		if left != nil {
			<-left
		} else if t.mirror != nil {
			err = errors.Join(err, t.close())
		}
	}
	n.work.Wait()
	return errors.Join(err, n.lock.Close())
}

func (t *tenant) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.agents {
		a.end()
	}
	if t.mirror == nil {
		return nil
	}
	clear(t.snapshots)
	t.shelf(nil, false).close()
	return t.mirror.close()
}

// with opens a tenant for do.
func (n *pool) with(ctx context.Context, id string, do func(*tenant) error) error {
	t, err := n.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer n.release(t)
	return do(t)
}

// acquire returns an open tenant, which the caller releases.
func (n *pool) acquire(ctx context.Context, id string) (*tenant, error) {
	t, err := n.enter(ctx, id)
	if err == nil {
		err = n.await(ctx, t)
	}
	return t, err
}

// await waits until a tenant is open. It releases it after an error.
func (n *pool) await(ctx context.Context, t *tenant) error {
	select {
	case <-t.ready:
	case <-ctx.Done():
		n.release(t)
		return ctx.Err()
	}
	if t.err != nil {
		n.release(t)
		return t.err
	}
	return nil
}

// enter returns a tenant that is open or being opened, which the caller releases.
func (n *pool) enter(ctx context.Context, id string) (*tenant, error) {
	for {
		n.mu.Lock()
		if n.closed {
			n.mu.Unlock()
			return nil, httpapi.ErrClosed
		}
		t := n.tenants[id]
		if t == nil {
			t = n.newTenant(id)
			n.tenants[id] = t
			go n.open(t)
		}
		if left := t.left; left != nil { // its folder is being removed, and then it is opened again
			n.mu.Unlock()
			select {
			case <-left:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		t.users++
		t.used = time.Now()
		n.mu.Unlock()
		return t, nil
	}
}

func (n *pool) newTenant(id string) *tenant {
	t := &tenant{id: id, dir: filepath.Join(n.o.Dir, "tenants", id), ready: make(chan struct{}), agents: map[string]*agent{},
		snapshots: map[string]*fetched{}}
	t.shelf = n.shelfOf(t)
	t.meter = &meter{limits: func() service.Limits { return n.limitsOf(id) }}
	return t
}

// shelfOf returns what opens the vectors of a tenant, as a workspace of it has them; for nil it
// returns nil unless they are open.
func (n *pool) shelfOf(t *tenant) func(*app.Workspace, bool) *shelf {
	var mu sync.Mutex
	var s *shelf
	opened := ""
	return func(w *app.Workspace, later bool) *shelf {
		mu.Lock()
		defer mu.Unlock()
		if w != nil && opened != embedderOf(w) {
			s.close() // another embedder has other vectors
			var err error
			if s, err = openShelf(n.o.Open(Vectors(t.id)), func(ctx context.Context) (bool, error) { return n.o.Registry.Exists(ctx, t.id) }, w, later, n.o.Logger); err != nil {
				n.o.Logger.Warn("vectors are not exchanged with other nodes", "error", err)
			}
			opened = embedderOf(w)
		}
		return s
	}
}

func (n *pool) release(t *tenant) {
	n.mu.Lock()
	t.users--
	t.used = time.Now()
	n.mu.Unlock()
	n.dropGone(t)
}

// aside does something for a tenant beside requests, until the node ends. It returns false if the
// node has ended.
func (n *pool) aside(t *tenant, do func(context.Context)) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return false
	}
	t.users++
	n.work.Go(func() {
		defer n.release(t)
		do(n.life)
	})
	return true
}

// keep puts an object into the folder of a tenant, but not of one that was removed: nothing of that
// may be left.
func (n *pool) keep(ctx context.Context, id, name string, data []byte) error {
	exists, err := n.o.Registry.Exists(ctx, id)
	if err != nil || !exists {
		return err
	}
	if err := n.o.Objects.Put(ctx, objectsOf(id)+"/"+name, data); err != nil {
		return err
	}
	if exists, err = n.o.Registry.Exists(ctx, id); err == nil && !exists { // it was removed meanwhile
		_, err = n.o.Objects.RemoveAll(ctx, objectsOf(id))
	}
	return err
}

// openTimeout bounds reading the log of a tenant.
const openTimeout = 2 * time.Minute

func (n *pool) open(t *tenant) {
	ctx, stop := context.WithTimeout(context.Background(), openTimeout)
	defer stop()
	m, err := openMirror(ctx, n.o.Open(Documents(t.id)), t.documentsFolder(), n.copiesOf(t.id), n.o.Logger)
	if err == nil {
		// The mark of a repository makes it the project, whatever there is around the node's
		// folder.
		if err = os.MkdirAll(filepath.Join(m.dir, sharedFolder, ".git"), 0o700); err != nil {
			m.close()
		}
	}
	n.mu.Lock()
	if t.mirror, t.err = m, hide(n.o.Logger, err); err != nil {
		t.mirror = nil
		delete(n.tenants, t.id) // the next request tries again
	}
	n.mu.Unlock()
	close(t.ready)
	n.dropUnused()
}

// dropUnused removes the longest unused tenants over the bound from this node.
func (n *pool) dropUnused() {
	n.mu.Lock()
	var unused []*tenant
	open := 0
	for _, t := range n.tenants {
		if t.left != nil {
			continue
		}
		open++
		if t.users == 0 && t.mirror != nil {
			unused = append(unused, t)
		}
	}
	slices.SortFunc(unused, func(a, b *tenant) int { return a.used.Compare(b.used) })
	unused = unused[:min(len(unused), max(open-n.o.MostOpen, 0))]
	for _, t := range unused {
		t.left = make(chan struct{})
	}
	n.mu.Unlock()
	for _, t := range unused {
		n.drop(t)
	}
}

// drop removes a tenant from this node that nobody uses and that has left. Until its folder is
// gone, nobody opens it again: a mirror would take missing files for removals.
func (n *pool) drop(t *tenant) {
	if err := errors.Join(t.close(), os.RemoveAll(t.dir)); err != nil {
		n.o.Logger.Warn("a tenant was not removed from this node", "error", err)
	}
	n.mu.Lock()
	delete(n.tenants, t.id)
	n.mu.Unlock()
	close(t.left)
}

// imposed are settings that tenants have whatever the configuration says. What trusts here is the
// right of a key: the mirror has only what keys could write.
var imposed = map[string]string{
	"folderTrust.enabled": "false", "save.requireConfirmation": "false", "searchParents": "false", "loadLocalFiles": "false", "hook.log": "false",
	"use": "false", "reflect.propose": "false", "reflect.auto": "false", "shared.uri": "", "service.url": "", "mcp": "[]", "home": "~/.beans", "folder": hidden,
	"dataDir": filepath.Join(hidden, "memories"), "pluginFolders": "[]", "indexDir": "", "engine": config.EngineFlat, "exclude": "[]", "fileNames": "[BEANS.md]",
}

// curatedNames are those of imposed.
var curatedNames = []string{"BEANS.md", "BEANS.local.md"}

// openFolder opens the memory of a tenant's user. folder is what Folder returned.
func (n *pool) openFolder(ctx context.Context, folder string) (httpapi.Workspace, error) {
	rel, err := filepath.Rel(filepath.Join(n.o.Dir, "tenants"), folder)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if err != nil || len(parts) < 3 || parts[1] != usersFolder {
		return nil, kind.Usagef("this is no memory of this service")
	}
	o := owner{user: parts[2], teams: parts[3:]}
	t, err := n.acquire(ctx, parts[0])
	if err != nil {
		return nil, err
	}
	settings, err := freshSettings(ctx, n.o.Registry, t.id)
	if err != nil {
		n.release(t)
		return nil, hide(n.o.Logger, err)
	}
	w, err := n.workspace(t, o, settings)
	if err != nil {
		n.release(t)
		return nil, err
	}
	taken := false
	if at, err := w.Folders(); err == nil {
		taken = n.takeSnapshot(t, o, at.Index)
	}
	vectors := t.shelf(w, taken)
	s, err := w.Open(ctx)
	if err != nil {
		n.release(t)
		return nil, hide(n.o.Logger, err)
	}
	m := &memory{Service: s, owner: o, mirror: t.mirror, release: func() { n.release(t) }, outdated: func() bool {
		now := n.o.Registry.settings(t.id)
		return now.Embedder != settings.Embedder || now.Model != settings.Model
	}}
	m.begin(n.o.Logger, vectors, taken, func(ctx context.Context, name string, data []byte) error {
		if err := n.keep(ctx, t.id, name, data); err != nil {
			return err
		}
		return removeOldSnapshots(ctx, n.o.Objects, t.id)
	})
	return m, nil
}

// An owner is who has a memory: a user with some teams.
type owner struct {
	user  string
	teams []string
}

func ownerOf(p service.Principal) owner { return owner{p.User, p.Teams} }

// name is that of the index and the state of the memory. No user has a name with a plus.
func (o owner) name() string {
	if len(o.teams) == 0 {
		return o.user
	}
	sum := sha256.Sum256([]byte(strings.Join(o.teams, "\n")))
	return o.user + "+" + hex.EncodeToString(sum[:16])
}

func (n *pool) workspace(t *tenant, o owner, settings Settings) (*app.Workspace, error) {
	home := filepath.Join(t.mirror.dir, usersFolder, o.user)
	made := []string{filepath.Join(home, hidden)}
	places := config.Places{Home: home, Cache: t.cacheFolder(), State: filepath.Join(t.dir, "state", o.name()), Name: o.name()}
	for _, team := range o.teams {
		folder := filepath.Join(t.mirror.dir, teamsFolder, team)
		made = append(made, filepath.Join(folder, ".git")) // as in pool.open
		places.Mounts = append(places.Mounts, curated.Mount{Name: teamMark + team, Folder: folder})
	}
	for _, folder := range made {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
	}
	w, err := app.Tenant(n.o.Workspace, filepath.Join(t.mirror.dir, sharedFolder), places, settings.imposed())
	if err == nil {
		w.Metered = func(e embed.Embedder) embed.Embedder { return metered{e, t.meter} }
		w.DocumentsVersion = func() int64 { return t.mirror.now.Load().order }
	}
	return w, err
}

// A memory keeps its tenant open.
type memory struct {
	*app.Service
	owner   owner
	mirror  *mirror
	release func()
	// outdated reports whether the tenant has got another embedder.
	outdated func() bool

	stop    context.CancelFunc
	indexed sync.WaitGroup
}

// firstWait is how long the first request waits for an index. After that it gets what is found by
// then, and Result.State says so.
const firstWait = 400 * time.Millisecond

// begin makes the index on this node, or brings the one that was taken from the storage in step,
// and keeps its snapshot.
func (m *memory) begin(log *slog.Logger, vectors *shelf, taken bool, keep func(ctx context.Context, name string, data []byte) error) {
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	done := make(chan struct{})
	m.indexed.Go(func() {
		_, err := m.Manager.Index(ctx, core.IndexOptions{Progress: func(p core.Progress) {
			if p.Stage == "read" && p.Done == p.Total && !taken {
				vectors.wait(ctx) // from now on it embeds what other nodes may have embedded
			}
		}})
		close(done)
		if err == nil {
			err = m.keepSnapshot(ctx, taken, keep)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("a memory was not indexed, or its index not saved", "error", err)
		}
	})
	select {
	case <-done:
	case <-time.After(firstWait):
	}
}

// lookEvery is how often an open memory looks whether its documents have changed. Questions look
// themselves.
const lookEvery = 500 * time.Millisecond

// lookAgain is when an embedder is asked again that did not answer.
const lookAgain = 5 * time.Minute

// Outdated implements httpapi.Workspace.
func (m *memory) Outdated() bool { return m.outdated() || m.Service.Outdated() }

// Watch implements httpapi.Workspace. It follows the mirror, not the files: a node may have more
// folders open than the system watches.
func (m *memory) Watch(ctx context.Context, indexed func(core.IndexReport, error), _ func(error)) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var known int64
	var looked time.Time
	degraded := false // the embedder did not answer
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if order := m.mirror.now.Load().order; order != known || degraded && time.Since(looked) > lookAgain {
			report, err := m.Manager.Index(ctx, core.IndexOptions{KeepEngine: true})
			if ctx.Err() != nil {
				return nil
			}
			indexed(report, err)
			known, looked, degraded = order, time.Now(), report.Degraded != ""
		}
	}
}

// Context implements httpapi.Workspace.
func (m *memory) Context(ctx context.Context, r httpapi.ContextRequest) (httpapi.TextReply, error) {
	m.mirror.allowed.RLock()
	defer m.mirror.allowed.RUnlock()
	return m.Service.Context(ctx, r)
}

// Tools implements httpapi.Workspace.
func (m *memory) Tools() []tools.Tool { return withoutFiles(m.Service.Tools()) }

// withoutFiles leaves out of the answers of tools where files are on this node.
func withoutFiles(all []tools.Tool) []tools.Tool {
	var out []tools.Tool
	for _, t := range all {
		out = append(out, t.Calling(func(ctx context.Context, arguments []byte) (tools.Answer, error) {
			answer, err := t.Call(ctx, arguments)
			if fields, ok := fieldsOf(answer); ok && fields["file"] != nil {
				delete(fields, "file")
				answer.Data = fields
			}
			return answer, err
		}))
	}
	return out
}

// fieldsOf returns the data of an answer, if it is a JSON object or nothing.
func fieldsOf(answer tools.Answer) (fields map[string]any, ok bool) {
	data, err := json.Marshal(answer.Data)
	if err != nil || json.Unmarshal(data, &fields) != nil {
		return nil, false
	}
	if fields == nil {
		fields = map[string]any{}
	}
	return fields, true
}

// Close implements httpapi.Workspace.
func (m *memory) Close() error {
	defer m.release()
	m.stop()
	m.indexed.Wait()
	return m.Service.Close()
}

// Authenticate implements service.Node.
func (n *Node) Authenticate(ctx context.Context, tenant, secret string) (service.Principal, error) {
	if n.o.Tokens != nil && oidc.IsToken(secret) {
		p, err := withToken(ctx, n.o, tenant, secret)
		return p, hide(n.o.Logger, err)
	}
	p, err := n.o.Registry.Authenticate(ctx, tenant, secret)
	return p, hide(n.o.Logger, err)
}

// Ready implements service.Node.
func (n *Node) Ready(ctx context.Context) error {
	n.mu.Lock()
	closed := n.closed
	n.mu.Unlock()
	if closed {
		return httpapi.ErrClosed
	}
	return n.o.Registry.answers(ctx)
}

// Fresh implements service.Node.
func (n *Node) Fresh(ctx context.Context, p service.Principal, atLeast int64) (version int64, err error) {
	t, err := n.enter(ctx, p.TenantID)
	if err != nil {
		return 0, err
	}
	n.prefetch(t, ownerOf(p)) // while the mirror is opened
	if err := n.await(ctx, t); err != nil {
		return 0, err
	}
	defer n.release(t)
	return t.mirror.fresh(ctx, n.o.Freshness, atLeast)
}

// Folder implements service.Node.
func (n *Node) Folder(_ context.Context, p service.Principal) (string, error) {
	return filepath.Join(append([]string{n.o.Dir, "tenants", p.TenantID, usersFolder, p.User}, p.Teams...)...), nil
}

// Write implements service.Node.
func (n *Node) Write(ctx context.Context, p service.Principal, do func() error) (version int64, err error) {
	return n.write(ctx, p, nil, func(*mirror) error { return do() })
}

// write is Write for documents with some paths in the log, or for any with nil.
func (n *Node) write(ctx context.Context, p service.Principal, paths []string, do func(*mirror) error) (version int64, err error) {
	err = n.with(ctx, p.TenantID, func(t *tenant) error {
		for _, path := range paths { // before it is in a file that somebody could read
			if err := may(p, path); err != nil {
				return err
			}
		}
		j := &judge{principal: p, mirror: t.mirror}
		rules := rules{may: func(r store.Revision) error { return j.may(r.Path) }, fits: func(before, after size) error { return fits(n.Limits(p), before, after) }}
		version, err = t.mirror.write(ctx, p.User+"/"+p.Key, paths, rules, func() error {
			j.imported = nil
			return do(t.mirror)
		})
		return err
	})
	return version, err
}

// A judge refuses changes of one write. The lock of the mirror is held.
type judge struct {
	principal service.Principal
	mirror    *mirror
	imported  map[string]bool // nil if it is not known
}

func (j *judge) may(stored string) error {
	if err := may(j.principal, stored); err != nil || j.principal.Right.Includes(service.Admin) || !isOfSeveral(stored) {
		return err
	}
	if j.imported == nil {
		var err error
		if j.imported, err = j.mirror.imported(); err != nil {
			return err
		}
	}
	if !j.imported[stored] {
		return nil
	}
	return kind.As(kind.Forbidden, fmt.Errorf("%s is imported by what instructs the agents of others, which needs the right %s", shownAs(j.principal, stored), service.Admin))
}

// may refuses a change for its path alone.
func may(p service.Principal, stored string) error {
	if err := checkStored(stored); err != nil {
		return err
	}
	shown := shownAs(p, stored)
	switch {
	case shown == "":
		return kind.As(kind.Forbidden, errors.New("you may not change documents of other users and teams"))
	case !p.Right.Includes(service.Write):
		return kind.As(kind.Forbidden, fmt.Errorf("you may only read %s", shown))
	case instructsOthers(stored) && !p.Right.Includes(service.Admin):
		return kind.Hint(kind.As(kind.Forbidden, fmt.Errorf("%s instructs the agents of others, which needs the right %s", shown, service.Admin)),
			"save to the target global, or put a document elsewhere")
	}
	return nil
}

func (t *tenant) documentsFolder() string { return filepath.Join(t.dir, "documents") }

// cacheFolder has the vectors of a tenant's users on this node.
func (t *tenant) cacheFolder() string { return filepath.Join(t.dir, "cache") }
