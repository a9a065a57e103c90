package tenants

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/service"
)

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

func (n *pool) newTenant(id string) *tenant {
	t := &tenant{id: id, dir: filepath.Join(n.o.Dir, "tenants", id), ready: make(chan struct{}), agents: map[string]*agent{},
		snapshots: map[string]*fetched{}}
	t.shelf = n.shelfOf(t)
	t.meter = &meter{limits: func() service.Limits { return n.limitsOf(id) }}
	return t
}

// shelfOf returns a function that opens the vectors of a tenant for a workspace's embedder. Without
// a workspace it returns the open ones, if any.
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

func (t *tenant) documentsFolder() string { return filepath.Join(t.dir, "documents") }

// cacheFolder has indexes and vectors of the tenant's users.
func (t *tenant) cacheFolder() string { return filepath.Join(t.dir, "cache") }

// objectsOf is a tenant's folder in the storage.
func objectsOf(id string) string { return "tenants/" + id }

// Documents is the path of the log with a tenant's documents.
func Documents(id string) string { return objectsOf(id) + "/documents" }

// Vectors is the path of the log with the vectors of a tenant's documents.
func Vectors(id string) string { return objectsOf(id) + "/vectors" }

// with opens a tenant for do.
func (n *pool) with(ctx context.Context, id string, do func(*tenant) error) error {
	t, err := n.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer n.release(t)
	return do(t)
}

// acquire returns an open tenant. The caller releases it.
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

// enter returns a tenant that may still be opening. The caller releases it.
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

func (n *pool) release(t *tenant) {
	n.mu.Lock()
	t.users--
	t.used = time.Now()
	n.mu.Unlock()
	n.dropGone(t)
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

// aside works for a tenant beside requests. It returns false if the node has ended.
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

// keep puts an object into a tenant's folder, unless the tenant was removed: then nothing may stay.
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
