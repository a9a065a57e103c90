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
	"sync"
	"time"
)

const (
	// MostConnections is the default, if the process may open four times as many files.
	MostConnections = 1024
	fewConnections  = 16
	// restWait is for the rest of an unread body.
	restWait = 5 * time.Second
	// lingering is for reading a refusal.
	lingering = 250 * time.Millisecond
)

// Options of Protect.
type Options struct {
	// Connections bounds open connections. 0 is MostConnections, or a quarter of the files that the
	// process may open.
	Connections int
	// Unread bounds how long an answer stays unread; 0 is a minute.
	Unread time.Duration
}

// Protect adds the bounds to a server, and returns the listener to serve. When too many connections
// are open, a new one replaces one without a whole request (Places). It is refused only if all wait
// for answers.
//
// netutil.LimitListener does not fit: new clients would wait for silent ones. And it hides
// CloseWrite, by which a client can read a refusal.
func Protect(server *http.Server, listener net.Listener, o Options) net.Listener {
	most, written := cmp.Or(o.Connections, mostConnections()), cmp.Or(o.Unread, time.Minute)
	server.ReadHeaderTimeout = 5 * time.Second
	server.IdleTimeout = 2 * time.Minute
	server.MaxHeaderBytes = cmp.Or(server.MaxHeaderBytes, 64<<10)
	l := &limited{Listener: listener, refusing: make(chan struct{}, max(most/2, 1))}
	l.places.Most = most
	before := server.ConnContext
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, c)
		}
		return context.WithValue(ctx, connectionKey{}, c)
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := http.NewResponseController(w)
		answer := &writer{ResponseWriter: w, out: out, unread: written, status: http.StatusOK}
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			l.places.Work(c)
			sent := &body{ReadCloser: r.Body, of: c}
			if r.Body != http.NoBody { // others compare with it
				r.Body = sent
			}
			defer func() { sent.end(answer.status < http.StatusBadRequest) }()
		}
		defer func() { _ = out.SetReadDeadline(time.Now().Add(restWait)) }() // the next request sets its own
		next.ServeHTTP(answer, r)
	})
	return l
}

// mostConnections leaves files for the memories that are served.
func mostConnections() int {
	files, known := mostFiles()
	if !known {
		return MostConnections
	}
	return int(min(max(files/4, fewConnections), MostConnections))
}

type connectionKey struct{}

// limited is a listener that bounds open connections.
type limited struct {
	net.Listener
	places   Places[*connection]
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
		c := &connection{Conn: accepted, of: l}
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

// A connection holds a place.
type connection struct {
	net.Conn
	of *limited
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.places.Leave(c)
	return c.Conn.Close()
}

// CloseWrite ends an answer while the client still sends.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// A body lets its connection be replaced while bytes are missing. Clients that are let in, whose
// bodies handlers read, are regulars.
type body struct {
	io.ReadCloser
	of *connection

	mu    sync.Mutex
	state bodyState
}

type bodyState int

const (
	unread bodyState = iota
	reading
	whole // or broken
	ended // ReverseProxy may read after the handler's end
)

func (b *body) Read(p []byte) (int, error) {
	b.become(reading, unread)
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.become(whole, reading)
	}
	return n, err
}

func (b *body) become(state, from bodyState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state != from {
		return
	}
	if b.state = state; state == reading {
		b.of.of.places.Wait(b.of, true)
	} else {
		b.of.of.places.Work(b.of)
	}
}

// end is called when the handler has ended.
func (b *body) end(regular bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = ended
	b.of.of.places.Wait(b.of, regular)
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
