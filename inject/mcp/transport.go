package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memcore/memcore/internal/overload"
	"github.com/memcore/memcore/internal/webguard"
)

const (
	sessionIdle = 30 * time.Minute
	keepAlive   = 5 * time.Minute // below sessionIdle: a client that only listens answers pings
	maxBody     = 8 << 20
	// sessionlessFrom is the version of the protocol from which on there are no sessions.
	sessionlessFrom = "2026-07-28"
	// drain is how long running requests may take when the server ends.
	drain = 5 * time.Second
	// bodyWait is how long a client may take to send a message, mostBodies how many bytes all messages may have at a time.
	bodyWait   = 10 * time.Second
	mostBodies = 64 << 20
	// mostMessages are worked on at a time, others wait for messageWait; mostStreams listen; mostSessions are open.
	mostMessages = 64
	messageWait  = time.Second
	mostStreams  = 256
	mostSessions = 256
)

// ServeStdio serves one client on a pair of streams, until the client closes in or ctx ends, and returns nil then. What an error says is for a log.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { s.watch(ctx) })
	defer watching.Wait()
	defer stop()
	lines := newLines(in, out)
	err := s.sessionless.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(lines), Writer: keepOpen{lines}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// Handler serves streamable HTTP, with a bearer token if one is given. It refuses what web pages send. Close ends what it has begun.
func (s *Server) Handler(token string) http.Handler {
	sessions := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sessions }, &mcp.StreamableHTTPOptions{SessionTimeout: sessionIdle, MaxRequestBodyBytes: maxBody})
	sessionless := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sessionless },
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true, MaxRequestBodyBytes: maxBody})
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= sessionlessFrom {
			sessionless.ServeHTTP(w, r)
			return
		}
		sessions.ServeHTTP(w, r)
	})
	h = s.bounded(h)
	if token != "" {
		h = auth.RequireBearerToken(func(_ context.Context, given string, _ *http.Request) (*auth.TokenInfo, error) {
			if !webguard.IsToken(given, token) {
				return nil, fmt.Errorf("%w: it is not the one of this server", auth.ErrInvalidToken)
			}
			return &auth.TokenInfo{UserID: "owner"}, nil
		}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case webguard.IsForeign(r):
			http.Error(w, "pages of other sites may not use this server", http.StatusForbidden)
		case webguard.IsMisnamed(r):
			http.Error(w, "this server is asked by its address on this machine, not by another name", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// bounded refuses what would be too much: messages and streams at a time, sessions, bytes.
func (s *Server) bounded(next http.Handler) http.Handler {
	messages, streams := make(chan struct{}, mostMessages), make(chan struct{}, mostStreams)
	bodies := &overload.Bodies{Most: mostBodies}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			select {
			case streams <- struct{}{}:
				defer func() { <-streams }()
				next.ServeHTTP(w, r)
			default:
				busy(w, "as many clients listen as may")
			}
			return
		}
		if r.Header.Get("Mcp-Session-Id") == "" && r.Header.Get("Mcp-Protocol-Version") < sessionlessFrom && s.crowded() {
			busy(w, "as many sessions are open as may be; end those that are not used (DELETE)")
			return
		}
		data, free, err := bodies.Read(w, r, maxBody, bodyWait)
		defer free()
		switch {
		case errors.Is(err, overload.ErrLarge):
			w.Header().Set("Connection", "close") // the rest is not read
			http.Error(w, fmt.Sprintf("the message is larger than %d bytes", maxBody), http.StatusRequestEntityTooLarge)
			return
		case errors.Is(err, overload.ErrFull):
			busy(w, err.Error())
			return
		case errors.Is(err, overload.ErrSlow):
			http.Error(w, err.Error(), http.StatusRequestTimeout)
			return
		case err != nil:
			http.Error(w, "the message cannot be read: "+err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		wait := time.NewTimer(messageWait)
		defer wait.Stop()
		select {
		case messages <- struct{}{}:
			defer func() { <-messages }()
			next.ServeHTTP(w, r)
		case <-wait.C:
			busy(w, "the server is working on as many messages as it can")
		case <-r.Context().Done():
		}
	})
}

func busy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// crowded tells whether there are as many sessions as may be.
func (s *Server) crowded() bool {
	n := 0
	for range s.sessions.Sessions() {
		n++
	}
	return n >= mostSessions
}

// ServeHTTP serves streamable HTTP at /mcp of a listener until ctx ends, and returns nil then.
func (s *Server) ServeHTTP(ctx context.Context, listener net.Listener, token string) error {
	base, end := context.WithCancel(context.Background())
	defer end()
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.Handler(token))
	// No limit on writing: it would cut streams of events.
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return base },
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	listener = overload.Protect(server, listener, overload.Options{})
	var watching sync.WaitGroup
	watching.Go(func() { s.watch(base) })
	defer watching.Wait()
	defer end()
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	end() // streams of events stand for ever
	s.Close()
	wait, stop := context.WithTimeout(context.Background(), drain)
	defer stop()
	err := server.Shutdown(wait)
	<-served
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}

// Close ends the sessions of all clients.
func (s *Server) Close() {
	for _, server := range []*mcp.Server{s.sessions, s.sessionless} {
		for session := range server.Sessions() {
			go session.Close() // it waits for the client
		}
	}
}
