// Package overload keeps HTTP servers usable while clients are silent, slow, too many, or never
// read.
//
// Protect bounds connections, Bodies the memory of requests, Slots the requests at a time. A client
// over a bound gets status 503 with Retry-After.
package overload

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/memcore/memcore/internal/web/status"
)

const (
	// MaxConnections is the default, if the process may open four times as many files.
	MaxConnections = 1024
	minConnections = 16
	// restWait is for the rest of an unread body.
	restWait = 5 * time.Second
	// lingering is for reading a refusal.
	lingering = 250 * time.Millisecond
)

// Options of Protect.
type Options struct {
	// Connections bounds open connections. 0 is MaxConnections, or a quarter of the files that the
	// process may open.
	Connections int
	// Unread bounds how long an answer stays unread; 0 is a minute. After two seconds it already
	// gives way to a new connection.
	Unread time.Duration
	// Admit reports whether a connection is served. Others are closed before they hold a place; nil
	// admits all.
	Admit func(net.Conn) bool
}

// Protect adds the bounds to a server, and returns the listener to serve. When too many connections
// are open, a new one replaces one without a request, or whose client does not read (Places). It is
// refused only if all wait for answers. Slow bodies are for handlers to bound (Bodies).
//
// netutil.LimitListener does not fit: new clients would wait for silent ones. Nor does
// WriteTimeout, which counts from the request and would end streams.
func Protect(server *http.Server, listener net.Listener, o Options) net.Listener {
	server.ReadHeaderTimeout = 5 * time.Second
	server.IdleTimeout = 2 * time.Minute
	server.MaxHeaderBytes = cmp.Or(server.MaxHeaderBytes, 64<<10)
	o.Unread = cmp.Or(o.Unread, time.Minute)
	all := connectionsFor()
	l := &limited{Listener: listener, o: o, refusing: make(chan struct{}, max(all/2, 1))}
	l.places.Max = cmp.Or(o.Connections, all)
	before := server.ConnContext
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, c)
		}
		return context.WithValue(ctx, connectionKey{}, c)
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := status.NewWriter(w)
		if c, ok := r.Context().Value(connectionKey{}).(*conn); ok {
			if l.places.Work(c) && r.Header.Get("Upgrade") == "" {
				w.Header().Set("Connection", "close") // or who sends many requests at once keeps others out
			}
			defer func() { l.places.Wait(c, answer.Status < http.StatusBadRequest) }()
		}
		// The next request sets its own. Recorders of tests have none.
		defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restWait)) }()
		next.ServeHTTP(answer, r)
	})
	return l
}

// connectionsFor leaves files for the memories that are served.
func connectionsFor() int {
	files, known := maxFiles()
	if !known {
		return MaxConnections
	}
	return int(min(max(files/4, minConnections), MaxConnections))
}

type connectionKey struct{}

// limited is a listener that bounds open connections.
type limited struct {
	net.Listener
	o        Options
	places   Places[*conn]
	refusing chan struct{} // bounds simultaneous refusals
}

// Accept implements net.Listener. While all who could give way are young, clients wait in the
// system's queue.
func (l *limited) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.o.Admit != nil && !l.o.Admit(accepted) {
			_ = accepted.Close()
			continue
		}
		c := &conn{Conn: accepted, places: &l.places, unread: l.o.Unread}
		old, replaces, wait, ok := l.places.Take(c, false)
		for begun := time.Now(); wait > 0; {
			time.Sleep(min(wait, time.Millisecond)) // others may end before
			old, replaces, wait, ok = l.places.Take(c, time.Since(begun) > young)
		}
		if replaces {
			_ = old.Close()
		}
		if ok {
			return c, nil
		}
		l.refuse(accepted)
	}
}

const refusal = `{"error":{"status":503,"message":"memcore: as many connections are open as the service takes; try again in a second","type":"overloaded_error"}}` + "\n"

// refuse leaves clients above the bound in the system's queue.
func (l *limited) refuse(c net.Conn) {
	l.refusing <- struct{}{}
	go func() {
		defer func() { <-l.refusing }()
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(lingering))
		text := fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\nRetry-After: 1\r\nConnection: close\r\n\r\n%s", len(refusal), refusal)
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
		// The system drops the answer if the request stays unread.
		if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			_, _ = io.Copy(io.Discard, c)
		}
	}()
}
