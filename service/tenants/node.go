// Package tenants keeps the memories of many tenants on one node of a service.
//
// A log of documents on shared storage (store.Changelog) is the truth about a tenant. At the first
// request a node mirrors it as files, and opens on them the memory that a laptop would have. It
// appends a request's changes to the log before it answers. Nothing on a node is lost with it.
//
// Each tenant has its own folder in the storage and on the node, with a folder for all users, one
// for each team and one for each user. A principal's memory has the shared folder, its teams' and
// the user's own, and no other file: with other teams, the same user has another memory.
//
// tenant.go opens and releases tenants, removal.go removes them from the node; memory.go opens the
// memory of a principal; mirror*.go keep files and log in step; registry*.go know tenants and keys.
package tenants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"go.opentelemetry.io/otel/trace"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/oidc"
	"github.com/memcore/memcore/service/store"
)

// Options of a Node. Open, Objects, Registry, Dir and Workspace are required.
type Options struct {
	// Open opens the logs of the storage by their paths (Documents, Vectors).
	Open func(path string) store.Changelog
	// Objects hold copies of documents and indexes.
	Objects  store.Objects
	Registry *Registry
	// Tokens verifies an issuer's tokens; nil accepts keys only.
	Tokens *oidc.Verifier
	Dir    string // of what this node can make again; one process uses it
	// Workspace has the settings of all tenants.
	Workspace *app.Workspace
	// Freshness is how old an answer may be.
	Freshness time.Duration
	// MostOpen bounds the tenants on this node, except those in use; 0 is 1000.
	MostOpen int
	// Limits are for tenants without their own; 0 is no limit.
	Limits service.Limits
	// Audit gets calls over MCP; may be nil.
	Audit *service.AuditLog
	// Traces gets spans of calls over MCP; may be nil.
	Traces trace.TracerProvider
	Logger *slog.Logger
}

// A Node implements service.Node. It is safe for concurrent use.
type Node struct{ *pool }

// A pool has the tenants on this node.
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

// Memories answers for the folders that Folder returns.
func (n *pool) Memories() *httpapi.Server { return n.memories }

// Close waits for requests and writes, then closes all tenants.
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

// write is Write for some paths in the log; nil means any.
func (n *Node) write(ctx context.Context, p service.Principal, paths []string, do func(*mirror) error) (version int64, err error) {
	err = n.with(ctx, p.TenantID, func(t *tenant) error {
		for _, path := range paths { // before anybody could read it in a file
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
