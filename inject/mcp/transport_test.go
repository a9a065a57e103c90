package mcp

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// Over its bounds of messages, streams and bytes, the server refuses with a status, then
// works as before.
func TestBounds(t *testing.T) {
	release := make(chan struct{})
	entered := make(chan struct{}, 1000)
	s := New(newMemory(), Options{Logger: slog.New(slog.DiscardHandler)})
	defer s.Close()
	held := httptest.NewServer(s.bounded(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Hold") != "" {
			entered <- struct{}{}
			<-release
		}
		_, _ = io.Copy(io.Discard, r.Body)
	})))
	defer held.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer client.CloseIdleConnections()
	ask := func(url, method, body string, header http.Header) (int, string) {
		request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		require.NoError(t, err)
		request.Header = header
		response, err := client.Do(request)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, response.Body)
		require.NoError(t, response.Body.Close())
		return response.StatusCode, response.Header.Get("Retry-After")
	}
	for _, tt := range []struct {
		method string
		most   int
	}{{http.MethodPost, maxMessages}, {http.MethodGet, maxStreams}} {
		var all sync.WaitGroup
		release = make(chan struct{})
		for range tt.most {
			all.Go(func() { ask(held.URL, tt.method, "{}", http.Header{"X-Hold": {"1"}}) })
		}
		for range tt.most {
			<-entered
		}
		status, again := ask(held.URL, tt.method, "{}", http.Header{})
		require.Equal(t, http.StatusServiceUnavailable, status, tt.method)
		require.Equal(t, "1", again)
		close(release)
		all.Wait()
		status, _ = ask(held.URL, tt.method, "{}", http.Header{})
		require.Equal(t, http.StatusOK, status)
	}
	status, _ := ask(held.URL, http.MethodPost, strings.Repeat(" ", maxBody+1), http.Header{})
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	for range 12 {
		connection, err := net.Dial("tcp", strings.TrimPrefix(held.URL, "http://"))
		require.NoError(t, err)
		defer connection.Close()
		_, _ = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n"+strings.Repeat(" ", 5<<20)) // it may be refused before all is said
	}
	require.Eventually(t, func() bool {
		status, again := ask(held.URL, http.MethodPost, strings.Repeat(" ", 100<<10), http.Header{})
		return status == http.StatusServiceUnavailable && again == "1"
	}, time.Minute, 10*time.Millisecond, "bytes of all together")
}

// However many sessions begin and stay unused, those in use go on and others begin. A ping is no
// use. A client whose session ended learns it from a 404 and begins another.
func TestSessionsGiveWay(t *testing.T) {
	s := New(newMemory(), Options{Poll: -1, Logger: slog.New(slog.DiscardHandler)})
	defer s.Close()
	server := httptest.NewServer(s.Handler(""))
	defer server.Close()
	connect := func() *mcp.ClientSession {
		client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
		require.NoError(t, err)
		return session
	}
	used, unused := connect(), connect()
	defer used.Close()
	defer unused.Close()
	require.NotEmpty(t, used.ID())
	list := func(session *mcp.ClientSession) error {
		_, err := session.ListTools(t.Context(), nil)
		return err
	}
	require.NoError(t, list(used))
	var ended error
	for n := range 2*maxSessions + 88 {
		begin(t, server.URL)
		if n%20 == 0 {
			require.NoError(t, list(used))
			if ended == nil {
				ended = unused.Ping(t.Context(), nil)
			}
		}
	}
	require.Eventually(t, func() bool {
		n := 0
		for range s.sessions.Sessions() {
			n++
		}
		return n <= maxSessions
	}, 20*time.Second, time.Millisecond)
	require.ErrorIs(t, ended, mcp.ErrSessionMissing)
	again := connect()
	defer again.Close()
	require.NoError(t, list(again))
	require.NoError(t, list(used))
}

// A client that only posts gets no pings, and its session goes on; one that listens answers them.
func TestPingsEndNoSession(t *testing.T) {
	s := New(newMemory(), Options{Poll: -1, Logger: slog.New(slog.DiscardHandler)})
	s.pingEvery = 10 * time.Millisecond
	defer s.Close()
	server := httptest.NewServer(s.Handler(""))
	defer server.Close()
	var pings atomic.Int32
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if method == "ping" {
				pings.Add(1)
			}
			return next(ctx, method, request)
		}
	})
	connect := func(onlyPosts bool) *mcp.ClientSession {
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: onlyPosts}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
		require.NoError(t, err)
		return session
	}
	posts := connect(true)
	defer posts.Close()
	time.Sleep(10 * s.pingEvery)
	_, err := posts.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Zero(t, pings.Load())
	listens := connect(false)
	defer listens.Close()
	require.Eventually(t, func() bool { return pings.Load() > 2 }, time.Minute, time.Millisecond)
}

func begin(t *testing.T, address string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(initialize))
	require.NoError(t, err)
	request.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, response.Body)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
