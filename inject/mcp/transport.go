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
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memcore/memcore/internal/web/origin"
	"github.com/memcore/memcore/internal/web/overload"
)

const (
	sessionIdle = 30 * time.Minute
	keepAlive   = 5 * time.Minute // below sessionIdle: a client that only listens answers pings
	maxBody     = 8 << 20
	// sessionlessFrom is the first version without sessions.
	sessionlessFrom = "2026-07-28"
	// drain bounds requests at the end.
	drain = 5 * time.Second
	// bodyWait bounds sending a message, maxBodies the bytes of all.
	bodyWait  = 10 * time.Second
	maxBodies = 64 << 20
	// maxMessages bounds them at a time. Others wait up to slotWait.
	maxMessages = 64
	slotWait    = time.Second
	maxStreams  = 256
	maxSessions = 256
)

// ServeStdio serves one client until it closes in or ctx ends, which is no error.
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

// Handler serves streamable HTTP, with a bearer token unless it is "", and refuses web pages. Close
// ends its sessions.
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
			if !origin.IsToken(given, token) {
				return nil, fmt.Errorf("%w: it is not the one of this server", auth.ErrInvalidToken)
			}
			return &auth.TokenInfo{UserID: "owner"}, nil
		}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case origin.IsForeign(r):
			http.Error(w, "web pages may not use this server", http.StatusForbidden)
		case origin.IsMisnamed(r):
			http.Error(w, "address this server by its IP address or localhost, not by another name", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// bounded refuses messages, streams and bytes over their bounds.
func (s *Server) bounded(next http.Handler) http.Handler {
	messages, streams := make(overload.Slots, maxMessages), make(overload.Slots, maxStreams)
	bodies := &overload.Bodies{Most: maxBodies}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		slots := messages
		switch {
		case r.Method != http.MethodPost:
			slots = streams
		default:
			data, free, err := bodies.Read(w, r, maxBody, bodyWait)
			defer free()
			if err != nil {
				refuse(w, err)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(data))
		}
		err := slots.Do(r.Context(), slotWait, func() error {
			next.ServeHTTP(w, r)
			return nil
		})
		if err != nil {
			refuse(w, err)
		}
	})
}

func refuse(w http.ResponseWriter, err error) {
	status := overload.StatusOf(err)
	switch status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	case http.StatusRequestEntityTooLarge:
		w.Header().Set("Connection", "close") // the rest is not read
	}
	http.Error(w, err.Error(), status)
}

// placed gives each new session a place, for which an unused one ends: its client gets status 404
// and begins another. Sessions that asked for something have precedence; those with a running
// request stay.
func (s *Server) placed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		session, ok := request.GetSession().(*mcp.ServerSession)
		switch {
		case !ok || method == "ping" || strings.HasPrefix(method, "notifications/"):
		case method == "initialize":
			if err := s.place(session); err != nil {
				return nil, err
			}
		default:
			s.places.Work(session)
			defer s.places.Wait(session, true)
		}
		return next(ctx, method, request)
	}
}

var errCrowded = fmt.Errorf("%w: all sessions are working", overload.ErrBusy)

func (s *Server) place(session *mcp.ServerSession) error {
	old, replaces, _, ok := s.places.Take(session, true)
	if replaces {
		go old.Close() // it waits for the client
	}
	if !ok {
		return errCrowded
	}
	ended := make(chan struct{})
	go func() {
		_ = session.Wait() // its error is the client's
		s.places.Leave(session)
		close(ended)
	}()
	go s.ping(session, ended)
	return nil
}

// ping keeps a session whose client only listens: its answers count as messages. A client that
// only posts has no stream for pings, so an unanswered one ends nothing; sessionIdle does.
func (s *Server) ping(session *mcp.ServerSession, ended <-chan struct{}) {
	ticks := time.NewTicker(s.pingEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticks.C:
			ctx, stop := context.WithTimeout(context.Background(), s.pingEvery/2)
			_ = session.Ping(ctx, nil)
			stop()
		}
	}
}

// ServeHTTP serves streamable HTTP at /mcp until ctx ends, which is no error.
func (s *Server) ServeHTTP(ctx context.Context, listener net.Listener, token string) error {
	base, end := context.WithCancel(context.Background())
	defer end()
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.Handler(token))
	// A limit for writing would cut streams of events.
	server := &http.Server{Handler: mux, BaseContext: func(net.Listener) context.Context { return base },
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
	end() // streams of events have no end
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
