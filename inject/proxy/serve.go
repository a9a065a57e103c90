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

	"github.com/memcore/memcore/internal/web/origin"
	"github.com/memcore/memcore/internal/web/overload"
)

// unread bounds an answer's wait: people may pause.
const unread = 5 * time.Minute

// Listen opens the address. The caller or Serve closes it.
func (p *Proxy) Listen() (net.Listener, error) {
	listener, err := net.ListenTCP("tcp", p.listen) // the address that was checked
	if err != nil {
		return nil, fmt.Errorf("%w; if another program has it, such as another memcore proxy, choose another address", err)
	}
	if port := listener.Addr().(*net.TCPAddr).Port; p.forwarder.upstream.Port() == strconv.Itoa(port) && origin.IsLocal(p.forwarder.upstream.Host, p.host) {
		return nil, errors.Join(fmt.Errorf("upstream %s is this proxy itself", p.forwarder.upstream.Host), listener.Close())
	}
	return listener, nil
}

// Serve answers until ctx ends, then for Options.Grace, and cuts the rest. It waits for all
// requests, and closes the listener. The end of ctx is no error.
func (p *Proxy) Serve(ctx context.Context, listener net.Listener) error {
	live, cut := context.WithCancel(context.WithoutCancel(ctx)) // requests outlive ctx by the grace
	defer cut()
	running := &gate{next: p}
	server := &http.Server{
		Handler:        running,
		MaxHeaderBytes: http.DefaultMaxHeaderBytes, // as the upstream may take
		ErrorLog:       slog.NewLogLogger(p.forwarder.log.Handler(), slog.LevelWarn),
		BaseContext:    func(net.Listener) context.Context { return live },
	}
	protected := overload.Protect(server, listener, overload.Options{Unread: unread})
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(protected) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		grace, stop := context.WithTimeout(live, p.options.Grace)
		_ = server.Shutdown(grace) // the rest is cut
		stop()
		<-failed
	}
	cut()
	_ = server.Close()
	running.shut()
	p.forwarder.Close()
	return err
}

// A gate counts running requests: http.Server forgets hijacked connections.
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

// shut refuses further requests and waits for the others.
func (g *gate) shut() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
