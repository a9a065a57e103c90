package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A span a request reaches the collector, and says nothing of what was asked.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	var sent []byte
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, body...)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	traces, end, err := Traces(t.Context(), "v1.2.3")
	require.NoError(t, err)
	h := newHouse(t, Options{Traces: traces})
	status, _ := ask(t, h.Handler(), "POST", "/v1/retrieve", `{"workspace":"/secret-folder","query":"secret question"}`)
	require.Equal(t, 200, status)
	require.NoError(t, end(t.Context()))
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"POST /v1/retrieve", "memcore.hits", "v1.2.3"} {
		require.True(t, bytes.Contains(sent, []byte(want)), want)
	}
	require.False(t, bytes.Contains(sent, []byte("secret")))
}
