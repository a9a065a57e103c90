package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/memcore/memcore/internal/overload"
	"github.com/memcore/memcore/internal/webguard"
)

// Limits on clients that open connections and then say nothing.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	unread            = 5 * time.Minute // a person may look at half an answer for a while
)

// Listen opens the address of the Options. The caller closes it, or has Serve do so.
func (p *Proxy) Listen() (net.Listener, error) {
	listener, err := net.ListenTCP("tcp", p.listen) // what was checked, not what the name is by now
	if err != nil {
		return nil, fmt.Errorf("%w; if another program has it, such as another memcore proxy, choose another address", err)
	}
	if port := listener.Addr().(*net.TCPAddr).Port; p.upstream.Port() == strconv.Itoa(port) && webguard.IsLocal(p.upstream.Host, p.host) {
		return nil, errors.Join(fmt.Errorf("upstream %s is this proxy itself", p.upstream.Host), listener.Close())
	}
	return listener, nil
}

// Serve answers requests until ctx ends; then it takes no more, lets answers go on for Options.Grace and cuts those that are left.
// When it returns, listener is closed and nothing of the proxy runs any more. The error is nil if ctx ended it.
func (p *Proxy) Serve(ctx context.Context, listener net.Listener) error {
	live, cut := context.WithCancel(context.WithoutCancel(ctx)) // requests outlive ctx by the grace
	defer cut()
	running := &gate{next: p}
	server := &http.Server{
		Handler:           running,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return live },
	}
	protected := overload.Protect(server, listener, overload.Options{Unread: unread})
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(protected) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		grace, stop := context.WithTimeout(live, p.options.Grace)
		_ = server.Shutdown(grace) // what is left is cut
		stop()
		<-failed
	}
	cut()
	_ = server.Close()
	running.shut()
	p.transport.CloseIdleConnections()
	return err
}

// A gate knows which requests are being answered: http.Server forgets those whose connections it closes or hands over.
type gate struct {
	next    http.Handler
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		http.Error(w, "memcore proxy is stopping", http.StatusServiceUnavailable)
		return
	}
	defer g.running.Done()
	g.next.ServeHTTP(w, r)
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.running.Add(1)
	}
	return !g.closed
}

// shut lets nobody in any more and waits for those who are.
func (g *gate) shut() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
