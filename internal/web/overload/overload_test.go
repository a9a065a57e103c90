package overload_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/web/overload"
)

// serve runs a protected server until the test ends, and returns its address.
func serve(t *testing.T, o overload.Options, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute}
	protected := overload.Protect(server, listener, o)
	served := make(chan error, 1)
	go func() { served <- server.Serve(protected) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-served, http.ErrServerClosed)
	})
	return listener.Addr().String()
}

func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(40*time.Second)))
	return c
}

func get(t *testing.T, address string) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")), nil)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// When all connections are busy, further clients are refused with Retry-After.
func TestRefused(t *testing.T) {
	release := make(chan struct{})
	entered := make(chan bool, 100)
	address := serve(t, overload.Options{Connections: 3}, func(http.ResponseWriter, *http.Request) { entered <- true; <-release })
	for range 3 {
		dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		<-entered
	}
	time.Sleep(150 * time.Millisecond) // waiting connections would now give way
	response := get(t, address)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"error":{"status":503,"message":"memcore: as many connections are open as the service takes; try again in a second","type":"overloaded_error"}}`, string(body))
	close(release)
	require.Eventually(t, func() bool { return get(t, address).StatusCode == http.StatusOK }, time.Minute, time.Millisecond)
}

// Idle connections give way to new ones, at any stage of a request.
func TestIdleGivesWay(t *testing.T) {
	for name, first := range map[string]string{
		"silent":        "",
		"slow header":   "GET / HTTP/1.1\r\nHost:",
		"kept alive":    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"unwanted body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, overload.Options{Connections: 4}, func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "hello")
			})
			for range 4 {
				dial(t, address, first)
			}
			for range 3 {
				deadline := time.Now().Add(time.Second) // the server may have accepted them late
				status := get(t, address).StatusCode
				for status == http.StatusServiceUnavailable && time.Now().Before(deadline) {
					status = get(t, address).StatusCode
				}
				require.Equal(t, http.StatusOK, status)
			}
		})
	}
}

// Strangers who open connections without end, silent or with refused requests, make no request of
// others fail, over new and over kept connections.
func TestFlood(t *testing.T) {
	for name, first := range map[string]string{
		"silent":       "",
		"half a line":  "GET /",
		"unauthorised": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"slow body":    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			const connections = 64
			address := serve(t, overload.Options{Connections: connections}, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "" {
					http.Error(w, "no", http.StatusUnauthorized)
					return
				}
				_, _ = io.Copy(w, r.Body)
			})
			ctx, stop := context.WithCancel(t.Context())
			var strangers sync.WaitGroup
			defer strangers.Wait()
			defer stop()
			var opened atomic.Int64
			for range connections * 13 / 10 {
				strangers.Go(func() {
					for ctx.Err() == nil {
						reopen(ctx, address, first)
						opened.Add(1)
					}
				})
			}
			require.Eventually(t, func() bool { return opened.Load() > connections }, 20*time.Second, time.Millisecond)
			kept := &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
			defer kept.CloseIdleConnections()
			fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
			for range 25 {
				for _, client := range []*http.Client{kept, fresh} {
					request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address, strings.NewReader("hello"))
					require.NoError(t, err)
					request.Header.Set("Authorization", "mine")
					response, err := client.Do(request)
					require.NoError(t, err)
					text, err := io.ReadAll(response.Body)
					require.NoError(t, err)
					require.NoError(t, response.Body.Close())
					require.Equal(t, "hello", string(text))
				}
			}
			t.Logf("%d connections of strangers", opened.Load())
		})
	}
}

// reopen opens a connection and holds it until the server closes it or ctx ends.
func reopen(ctx context.Context, address, first string) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	_, _ = io.WriteString(c, first)
	_, _ = io.Copy(io.Discard, c)
}

// Neither newcomers nor regulars take all places, and who works keeps his.
func TestPlaces(t *testing.T) {
	p := overload.Places[int]{Max: 10}
	take := func(k int) (out int, replaces, ok bool) {
		out, replaces, _, ok = p.Take(k, true)
		return out, replaces, ok
	}
	for k := range 10 {
		_, replaces, ok := take(k)
		require.True(t, ok)
		require.False(t, replaces)
		p.Work(k)
	}
	_, _, ok := take(10)
	require.False(t, ok, "all work")
	for k := range 10 {
		p.Wait(k, true)
	}
	for k := 10; k < 16; k++ {
		out, _, _ := take(k)
		require.Equal(t, k-10, out, "the regular that waited longest")
	}
	for k := 16; k < 100; k++ {
		p.Work(k - 2)
		p.Wait(k-2, false) // answered, but no regular: keeps its turn
		out, _, _ := take(k)
		require.Equal(t, k-6, out, "the oldest newcomer")
	}
	_, _, wait, ok := p.Take(100, false)
	require.False(t, ok)
	require.Positive(t, wait, "the oldest is young")
	p.Leave(50) // it has left before
	p.Leave(99)
	_, replaces, ok := take(100)
	require.True(t, ok)
	require.False(t, replaces)
}

// A client that does not read loses its connection, and the handler gets an error.
func TestUnread(t *testing.T) {
	ended := make(chan error, 1)
	address := serve(t, overload.Options{Unread: 200 * time.Millisecond}, func(w http.ResponseWriter, _ *http.Request) {
		out := http.NewResponseController(w)
		for {
			_, err := w.Write(make([]byte, 1<<20))
			if err == nil {
				err = out.Flush()
			}
			if err != nil {
				ended <- err
				return
			}
		}
	})
	dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(40 * time.Second):
		t.Fatal("it still writes")
	}
}

// An answer that nobody reads gives way, whoever asked for it before; one that is read does not.
func TestUnreadGivesWay(t *testing.T) {
	const connections = 8
	answer := make([]byte, 64<<20)
	var answered atomic.Int64
	address := serve(t, overload.Options{Connections: connections}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			answered.Add(1)
			_, _ = w.Write(answer)
		}
	})
	const large = "GET /large HTTP/1.1\r\nHost: x\r\n\r\n"
	reads := dial(t, address, large)
	for range connections - 1 {
		dial(t, address, large)
	}
	require.Eventually(t, func() bool { return answered.Load() == connections }, time.Minute, time.Millisecond)
	require.Equal(t, http.StatusServiceUnavailable, get(t, address).StatusCode, "all answers are young")
	enough := make(chan struct{})
	cut := make(chan error, 1)
	go func() {
		response, err := http.ReadResponse(bufio.NewReader(reads), nil)
		for err == nil {
			select {
			case <-enough:
				cut <- nil
				return
			case <-time.After(20 * time.Millisecond):
				_, err = io.CopyN(io.Discard, response.Body, 64<<10)
			}
		}
		cut <- err
	}()
	require.Eventually(t, func() bool { return get(t, address).StatusCode == http.StatusOK }, 15*time.Second, 100*time.Millisecond)
	for range 3 * connections { // more than there are places
		require.Equal(t, http.StatusOK, get(t, address).StatusCode)
	}
	close(enough)
	require.NoError(t, <-cut)
}

// When places are short, who sends many requests at once gets one answer.
func TestPipelined(t *testing.T) {
	address := serve(t, overload.Options{Connections: 4}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	answers := func() int {
		all, _ := io.ReadAll(dial(t, address, strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 9)+"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
		return strings.Count(string(all), "hello")
	}
	require.Equal(t, 10, answers())
	for range 3 {
		dial(t, address, "")
	}
	require.Equal(t, 1, answers())
}

// Strangers are closed at once, and take no place from others.
func TestAdmit(t *testing.T) {
	var strange atomic.Bool
	address := serve(t, overload.Options{Connections: 2, Admit: func(net.Conn) bool { return !strange.Load() }},
		func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	mine := dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	answers := bufio.NewReader(mine)
	ask := func() {
		response, err := http.ReadResponse(answers, nil)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, "hello", string(text))
	}
	ask()
	strange.Store(true)
	for range 20 {
		_, err := dial(t, address, "").Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
	}
	_, err := io.WriteString(mine, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	ask()
}

// A client that reads at intervals keeps its connection.
func TestStreams(t *testing.T) {
	address := serve(t, overload.Options{Unread: time.Second}, func(w http.ResponseWriter, r *http.Request) {
		for range 5 {
			io.WriteString(w, "word\n")
			require.NoError(t, http.NewResponseController(w).Flush())
			time.Sleep(400 * time.Millisecond)
		}
	})
	body, err := io.ReadAll(get(t, address).Body)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("word\n", 5), string(body))
}

// The server does not wait long for an unread body.
func TestRestOfABody(t *testing.T) {
	address := serve(t, overload.Options{}, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	c := dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx")
	data, err := io.ReadAll(c)
	require.NoError(t, err, "the connection is closed")
	require.Contains(t, string(data), "401")
}

func TestBodies(t *testing.T) {
	read := func(b *overload.Bodies, body string, most int64) (string, func(), error) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.NopCloser(strings.NewReader(body)))
		data, free, err := b.Read(httptest.NewRecorder(), r, most, time.Minute)
		rest, _ := io.ReadAll(r.Body)
		require.Equal(t, body, string(data)+string(rest), "nothing of it is lost")
		return string(data), free, err
	}
	b := &overload.Bodies{Most: 150 << 10}
	for _, size := range []int{0, 1, 8 << 10, 8<<10 + 1, 50 << 10} {
		body := strings.Repeat("x", size)
		data, free, err := read(b, body, 50<<10)
		require.NoError(t, err)
		require.Len(t, data, size)
		free()
	}
	_, free, err := read(b, strings.Repeat("x", 50<<10+1), 50<<10)
	require.ErrorIs(t, err, overload.ErrLarge)
	free()

	_, first, err := read(b, strings.Repeat("x", 100<<10), 90<<10)
	require.ErrorIs(t, err, overload.ErrLarge)
	_, second, err := read(b, strings.Repeat("x", 70<<10), 90<<10)
	require.ErrorIs(t, err, overload.ErrFull)
	_, small, err := read(b, "x", 90<<10)
	require.NoError(t, err, "large ones do not shut out small ones")
	small()
	second()
	first()
	_, third, err := read(b, strings.Repeat("x", 70<<10), 90<<10)
	require.NoError(t, err, "all was given back")
	third()
}

func TestSlowBody(t *testing.T) {
	said := make(chan error, 1)
	after := make(chan error, 1)
	address := serve(t, overload.Options{}, func(w http.ResponseWriter, r *http.Request) {
		b := &overload.Bodies{Most: 1 << 20}
		wait := time.Minute
		if r.ContentLength > 5 {
			wait = 100 * time.Millisecond
		}
		_, free, err := b.Read(w, r, 1<<20, wait)
		defer free()
		if said <- err; err == nil {
			select { // the body's deadline does not apply to the handler
			case <-r.Context().Done():
				after <- context.Cause(r.Context())
			case <-time.After(300 * time.Millisecond):
				after <- nil
			}
		}
	})
	dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nx")
	require.ErrorIs(t, <-said, overload.ErrSlow)
	c := dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
	require.NoError(t, <-said)
	require.NoError(t, <-after)
	answer, err := bufio.NewReader(c).ReadBytes('\n')
	require.NoError(t, err)
	require.True(t, bytes.Contains(answer, []byte("200")))
}
