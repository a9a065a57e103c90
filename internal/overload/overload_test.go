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
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/overload"
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
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	return c
}

func get(t *testing.T, address string) *http.Response {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")), nil)
	require.NoError(t, err)
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// All places are taken by requests: whoever comes is told so, and when to come again.
func TestRefused(t *testing.T) {
	release := make(chan struct{})
	var entered sync.WaitGroup
	entered.Add(3)
	address := serve(t, overload.Options{Most: 3}, func(http.ResponseWriter, *http.Request) { entered.Done(); <-release })
	for range 3 {
		dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	}
	entered.Wait()
	time.Sleep(1100 * time.Millisecond) // long enough for places of those that are idle, which these are not
	response := get(t, address)
	require.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	require.Equal(t, "1", response.Header.Get("Retry-After"))
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.JSONEq(t, `{"error":{"status":503,"message":"memcore: as many connections are open as the service takes; try again in a second","type":"overloaded_error"}}`, string(body))
	close(release)
	require.Eventually(t, func() bool { return get(t, address).StatusCode != 0 }, 10*time.Second, time.Millisecond)
}

// Connections on which nothing is done give way, whatever it is that they do not do.
func TestIdleGivesWay(t *testing.T) {
	for name, first := range map[string]string{
		"silent":        "",
		"slow header":   "GET / HTTP/1.1\r\nHost:",
		"kept alive":    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"unwanted body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := serve(t, overload.Options{Most: 4}, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
			for range 4 {
				dial(t, address, first)
			}
			time.Sleep(1200 * time.Millisecond)
			for range 3 {
				require.Equal(t, http.StatusOK, get(t, address).StatusCode)
			}
		})
	}
}

// One that does not read loses its connection, and whoever writes to it hears of it.
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
	case <-time.After(20 * time.Second):
		t.Fatal("it still writes")
	}
}

// One that reads now and then keeps its connection, for however long.
func TestStreams(t *testing.T) {
	address := serve(t, overload.Options{Unread: 300 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		for range 5 {
			io.WriteString(w, "word\n")
			w.(http.Flusher).Flush()
			time.Sleep(200 * time.Millisecond)
		}
	})
	body, err := io.ReadAll(get(t, address).Body)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("word\n", 5), string(body))
}

// The rest of a body that nobody waits for is not waited for long.
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
			select { // the time for the body is none for what is done with it
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
