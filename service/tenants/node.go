// Package tenants answers for the memories of many tenants, which package postgres keeps.
//
// A node keeps nothing of them but what can be lost at any time: analysed words and embedding
// models. It decides who may do what (rights.go, names.go), makes of a document what the database
// keeps (index.go), and lays out files for what works on files, for the time of one call (desk.go).
package tenants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

// Options of a Node. DB and Workspace are required.
type Options struct {
	DB *postgres.DB
	// Workspace has the settings of all tenants.
	Workspace *app.Workspace
	// Limits are for tenants without their own; 0 is no limit.
	Limits service.Limits
	// Keep is how long replaced and removed texts stay in the history; 0 is seven days.
	Keep time.Duration
	// Audit gets calls over MCP; may be nil.
	Audit *service.AuditLog
	// Traces gets spans of calls over MCP; may be nil.
	Traces trace.TracerProvider
	Logger *slog.Logger
}

// defaultKeep is for Options.Keep.
const defaultKeep = 7 * 24 * time.Hour

// A Node implements service.Node. It is safe for concurrent use.
type Node struct {
	o      Options
	folder string // of desks
	models models
	agents agents
	meters meters
	// embedding has a place for each write that waits for its vectors.
	embedding chan struct{}
	recutting chan struct{} // asks for recut
	deskSizes deskSizes
	// largeDesks has a place for each desk that is not small.
	largeDesks chan struct{}

	life context.Context // of what is done aside
	stop context.CancelFunc
	work sync.WaitGroup // of what is done aside
}

var (
	_ service.Node    = (*Node)(nil)
	_ service.Keys    = Keys{}
	_ service.Tenants = Tenants{}
)

// NewNode returns a node. Close ends it.
func NewNode(o Options) (*Node, error) {
	if err := check(service.Settings{Limits: o.Limits}); err != nil {
		return nil, err
	}
	if o.Keep == 0 {
		o.Keep = defaultKeep
	}
	folder, err := os.MkdirTemp("", "memcore-service-")
	if err != nil {
		return nil, fmt.Errorf("folder of the node: %w", err)
	}
	n := &Node{o: o, folder: folder, embedding: make(chan struct{}, runtime.GOMAXPROCS(0)), recutting: make(chan struct{}, 1), deskSizes: usualDesks, largeDesks: make(chan struct{}, maxLargeDesks)}
	n.life, n.stop = context.WithCancel(context.Background())
	if _, err := n.modelOf(service.Settings{}); err != nil { // a mistake in the configuration is said now
		return nil, errors.Join(err, n.Close())
	}
	n.work.Go(func() { n.embedLater(n.life) })
	n.work.Go(func() { n.maintain(n.life) })
	n.work.Go(func() { n.recutAside(n.life) })
	return n, nil
}

// Close waits for what is done aside.
func (n *Node) Close() error {
	n.stop()
	n.agents.end()
	n.work.Wait()
	return os.RemoveAll(n.folder)
}

// Ready implements service.Node.
func (n *Node) Ready(ctx context.Context) error {
	if n.life.Err() != nil {
		return httpapi.ErrClosed
	}
	return n.o.DB.Ready(ctx)
}

// Await implements service.Node.
func (n *Node) Await(ctx context.Context, p service.Principal, position int64) error {
	if position == 0 {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, awaitTimeout)
	defer stop()
	return hide(n.o.Logger, n.o.DB.Await(ctx, p.Of.Tenant.ID, position))
}

// awaitTimeout bounds the wait of a request for a replica.
const awaitTimeout = 3 * time.Second

// maintainEvery is how often a node looks for what has expired.
const maintainEvery = time.Minute

// idleAfter is how long a node keeps what it remembers of who does not ask, such as a tenant that was
// deleted.
const idleAfter = 24 * time.Hour

// maintain removes what has expired.
func (n *Node) maintain(ctx context.Context) {
	ticker := time.NewTicker(maintainEvery)
	defer ticker.Stop()
	for {
		n.agents.forget()
		n.meters.forget()
		if err := n.o.DB.Maintain(ctx); err != nil && ctx.Err() == nil {
			n.o.Logger.Warn("what has expired was not removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
