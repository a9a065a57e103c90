package proxy

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

type knowsOne struct{}

func (knowsOne) RetrieveRelevant(context.Context, string, core.RetrieveOptions) (core.Result, error) {
	return core.Result{State: core.StateReady, Hits: []core.MemoryHit{{ID: "a", Text: "The port is 5433.", Source: "a.md#L1"}}}, nil
}

// Over its bound of bytes, the proxy passes requests on without memory.
func TestBounds(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer upstream.Close()
	p, err := New(upstream.URL, knowsOne{}, Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer p.forwarder.transport.CloseIdleConnections()
	front := httptest.NewServer(p)
	defer front.Close()
	ask := func(path string) (int, http.Header, string) {
		t.Helper()
		response, err := http.Post(front.URL+path, "application/json", strings.NewReader(chat))
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, response.Header, string(body)
	}
	_, header, body := ask("/v1/chat/completions")
	require.Equal(t, "1", header.Get(injectedHeader))
	require.Contains(t, body, "5433")

	p.forwarder.bodies.Most = 1 // all of it is taken
	status, header, body := ask("/v1/chat/completions")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "0", header.Get(injectedHeader))
	require.Equal(t, reasonFull, header.Get(reasonHeader))
	require.Equal(t, chat, body, "byte for byte")
	p.forwarder.bodies.Most = maxBodies

	status, _, _ = ask("/v1/chat/completions")
	require.Equal(t, http.StatusOK, status)
}

const chat = `{"model":"m","messages":[{"role":"user","content":"which port?"}]}`
