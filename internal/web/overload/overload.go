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
	// Unread bounds how long an answer stays unread; 0 is a minute.
	Unread time.Duration
}

// Protect adds the bounds to a server, and returns the listener to serve. When too many connections
// are open, a new one replaces one without a request (Places). It is refused only if all wait for
// answers. Slow bodies are for handlers to bound (Bodies, Within, Moving).
//
// netutil.LimitListener does not fit: new clients would wait for silent ones.
func Protect(server *http.Server, listener net.Listener, o Options) net.Listener {
	most, written := cmp.Or(o.Connections, connectionsFor()), cmp.Or(o.Unread, time.Minute)
	server.ReadHeaderTimeout = 5 * time.Second
	server.IdleTimeout = 2 * time.Minute
	server.MaxHeaderBytes = cmp.Or(server.MaxHeaderBytes, 64<<10)
	l := &limited{Listener: listener, refusing: make(chan struct{}, max(most/2, 1))}
	l.places.Max = most
	before := server.ConnContext
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, c)
		}
		return context.WithValue(ctx, connectionKey{}, c)
	}
	server.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			l.places.Leave(c)
		}
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := http.NewResponseController(w)
		answer := &writer{ResponseWriter: w, out: out, unread: written, status: http.StatusOK}
		if c, ok := r.Context().Value(connectionKey{}).(net.Conn); ok {
			l.places.Work(c)
			defer func() { l.places.Wait(c, answer.status < http.StatusBadRequest) }()
		}
		defer func() { _ = out.SetReadDeadline(time.Now().Add(restWait)) }() // the next request sets its own
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
	places   Places[net.Conn]
	refusing chan struct{} // bounds simultaneous refusals
}

// Accept implements net.Listener. While all who could give way are young, clients wait in the
// system's queue.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
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
		l.refuse(c)
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

// A writer extends the client's time at each write.
type writer struct {
	http.ResponseWriter
	out    *http.ResponseController
	unread time.Duration
	status int
}

// limit sets the deadline, which recorders of tests do not have.
func (w *writer) limit() { _ = w.out.SetWriteDeadline(time.Now().Add(w.unread)) }

func (w *writer) WriteHeader(status int) {
	w.limit()
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	w.limit()
	return w.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController.
func (w *writer) FlushError() error {
	w.limit()
	return w.out.Flush()
}

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() }

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
