package mcp

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	sessionIdle = 30 * time.Minute
	keepAlive   = 5 * time.Minute // below sessionIdle: a client that only listens answers pings
	maxBody     = 8 << 20
	// sessionlessFrom is the version of the protocol from which on there are no sessions.
	sessionlessFrom = "2026-07-28"
	// drain is how long running requests may take when the server ends.
	drain = 5 * time.Second
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
	if token != "" {
		h = auth.RequireBearerToken(func(_ context.Context, given string, _ *http.Request) (*auth.TokenInfo, error) {
			if subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
				return nil, fmt.Errorf("%w: it is not the one of this server", auth.ErrInvalidToken)
			}
			return &auth.TokenInfo{UserID: "owner"}, nil
		}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	}
	return sameOrigin(http.NewCrossOriginProtection().Handler(h))
}

// sameOrigin refuses what pages of other sites send, GET as well.
func sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
				http.Error(w, "pages of other sites may not use this server", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// ServeHTTP serves streamable HTTP at /mcp of a listener until ctx ends, and returns nil then.
func (s *Server) ServeHTTP(ctx context.Context, listener net.Listener, token string) error {
	base, end := context.WithCancel(context.Background())
	defer end()
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.Handler(token))
	// No limit on writing: it would cut streams of events.
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, BaseContext: func(net.Listener) context.Context { return base }}
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
