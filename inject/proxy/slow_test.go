package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/turn"
)

// forwardTo returns the address of a server that passes requests on.
func forwardTo(t *testing.T, upstream http.HandlerFunc) string {
	u := httptest.NewServer(upstream)
	t.Cleanup(u.Close)
	f, err := NewForwarder(u.URL, ForwarderOptions{MaxBody: 8, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(f.Close)
	memory := func(context.Context, func(turn.Retriever, SystemText) turn.Report) error {
		return errors.New("there is none")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Forward(w, r, Passage{Memory: memory})
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func silentAfter(t *testing.T, wait time.Duration) {
	before := silence
	t.Cleanup(func() { silence = before })
	silence = wait
}

// A client that stops sending a body that passes on is told, and holds no connection.
func TestBodiesThatStop(t *testing.T) {
	silentAfter(t, 50*time.Millisecond)
	address := forwardTo(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	for name, head := range map[string]string{
		"another request":        "/v1/files HTTP/1.1\r\nContent-Length: 1000",
		"in pieces":              "/v1/files HTTP/1.1\r\nTransfer-Encoding: chunked",
		"a compressed chat":      "/v1/chat/completions HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 1000",
		"a large chat":           "/v1/chat/completions HTTP/1.1\r\nContent-Length: 1000",
		"a large chat in pieces": "/v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", address)
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
			fmt.Fprintf(c, "POST %s\r\nHost: %s\r\n\r\nc\r\nbegins, then\r\n", head, address)
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, http.StatusRequestTimeout, response.StatusCode, string(body))
			require.Contains(t, string(body), "nothing more of it within")
			_, err = c.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF, "the connection is closed")
		})
	}
}

// An upload that moves takes as long as it takes, and its end sets no bound to the answer.
func TestUploadsThatMove(t *testing.T) {
	const wait, parts = 500 * time.Millisecond, 8
	silentAfter(t, wait)
	address := forwardTo(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		select {
		case <-r.Context().Done():
		case <-time.After(2 * wait):
			fmt.Fprint(w, n)
		}
	})
	body, more := io.Pipe()
	go func() {
		for range parts {
			_, _ = io.WriteString(more, "part")
			time.Sleep(wait / 4)
		}
		more.Close()
	}()
	response, err := http.Post("http://"+address+"/v1/files", "text/plain", body)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(4*parts), string(text))
}
