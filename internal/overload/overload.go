// Package overload keeps HTTP servers usable by those who behave, however many do not: clients that open connections and say nothing, send a byte a second,
// never read, or are more than a process can bear.
//
// Protect bounds connections and gives up those that nobody works for; Bodies bounds what requests hold in memory. Whoever gets no place is told so, by
// status 503 with Retry-After. What one request costs and how many are worked on at a time is the server's own business.
package overload

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// MostConnections is how many connections a server has at most, if the system lets a process have four times as many files.
	MostConnections = 1024
	fewConnections  = 16
	// silent is how long nobody must have worked for a connection before another may take its place: one that was just made is about to ask something.
	silent = time.Second
	// unread is how long a client may take for the rest of a body that its answer did not wait for.
	unread = 5 * time.Second
	// lingering is how long a client that was refused may take to read that.
	lingering = 250 * time.Millisecond
)

// Options say what Protect bounds; zero values are defaults.
type Options struct {
	// Most is how many connections there are at most; 0 is MostConnections, or a quarter of the files that the process may have open if that is less.
	Most int
	// Unread is how long a client may leave what is written to it unread; 0 is a minute.
	Unread time.Duration
}

// Protect makes a server, before it serves, answer on a listener so that
//   - there are no more connections than Options.Most: of those that no request is being answered on, the one that was used longest ago gives way to a new
//     one; if there is none, the new one is refused with status 503;
//   - a client that does not read loses its connection after Options.Unread;
//   - one that does not send the rest of a body which nobody waits for loses it after seconds.
//
// It returns the listener to serve. ReadHeaderTimeout and IdleTimeout remain the server's.
func Protect(server *http.Server, listener net.Listener, o Options) net.Listener {
	if o.Most == 0 {
		o.Most = mostConnections()
	}
	if o.Unread == 0 {
		o.Unread = time.Minute
	}
	l := &limited{Listener: listener, most: o.Most, open: map[*connection]bool{}, telling: make(chan struct{}, max(o.Most/2, 1))}
	before := server.ConnContext
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if before != nil {
			ctx = before(ctx, c)
		}
		return context.WithValue(ctx, connectionKey{}, c)
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			c.work(true)
			defer c.work(false)
		}
		out := http.NewResponseController(w)
		defer func() { _ = out.SetReadDeadline(time.Now().Add(unread)) }() // the server sets another with the next request
		next.ServeHTTP(&writer{w, out, o.Unread}, r)
	})
	return l
}

// mostConnections is a quarter of the files that the process may have open, or MostConnections.
func mostConnections() int {
	files, known := mostFiles()
	if !known {
		return MostConnections
	}
	return int(min(max(files/4, fewConnections), MostConnections))
}

type connectionKey struct{}

// limited is a listener that has no more than so many connections open.
type limited struct {
	net.Listener
	most    int
	telling chan struct{} // taken by each refusal that is being told

	mu   sync.Mutex
	open map[*connection]bool
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: accepted, of: l, since: time.Now()}
		idle, ok := l.place(c)
		if idle != nil {
			_ = idle.Close()
		}
		if ok {
			return c, nil
		}
		l.refuse(accepted)
	}
}

// place gives a connection a place, if need be that of one that is idle, which the caller closes.
func (l *limited) place(c *connection) (idle *connection, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.most {
		for other := range l.open {
			if other.working == 0 && time.Since(other.since) > silent && (idle == nil || other.since.Before(idle.since)) {
				idle = other
			}
		}
		if idle == nil {
			return nil, false
		}
		delete(l.open, idle)
	}
	l.open[c] = true
	return idle, true
}

const refusal = `{"error":{"status":503,"message":"memcore: as many connections are open as the service takes; try again in a second","type":"overloaded_error"}}` + "\n"

// refuse tells a client that there is no place. Clients that do not want to know are not waited for long; those that come meanwhile wait in the system's queue
// if too many are being told.
func (l *limited) refuse(c net.Conn) {
	l.telling <- struct{}{}
	go func() {
		defer func() { <-l.telling }()
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(lingering))
		text := fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: %d\r\nRetry-After: 1\r\nConnection: close\r\n\r\n%s", len(refusal), refusal)
		if _, err := io.WriteString(c, text); err != nil {
			return
		}
		// What was sent and not read would make the system take the answer back.
		if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			_, _ = io.Copy(io.Discard, c)
		}
	}()
}

// A connection knows whether a request is being answered on it.
type connection struct {
	net.Conn
	of      *limited
	working int       // with of.mu, as is
	since   time.Time // when that changed
}

func (c *connection) work(begins bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.since = time.Now()
	if begins {
		c.working++
	} else {
		c.working--
	}
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite is what net/http looks for where it has to end an answer while the client still sends.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// A writer gives the client a time to read what is written, anew with each write.
type writer struct {
	http.ResponseWriter
	out    *http.ResponseController
	unread time.Duration
}

func (w *writer) limit() { _ = w.out.SetWriteDeadline(time.Now().Add(w.unread)) } // a recorder of a test has none

func (w *writer) WriteHeader(status int) {
	w.limit()
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
