package tenants

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
)

// Requests have spans below those of their clients, named as the semantic conventions for
// generative AI want it, with the tenant and without anything that somebody wrote.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	var got strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got.Write(body)
	}))
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	traces, end, err := service.Traces(t.Context(), "v1.2.3", func(error) {})
	require.NoError(t, err)
	w := newWorldOf(t, nil, func(o *Options) { o.Traces = traces })
	w.fill([]string{"acme"}, []string{"ann"})
	p := w.people[0]
	ids := map[string]string{}
	traced := func(name string, c call) {
		id := fmt.Sprintf("%032x", len(ids)+0xabcdef0001)
		ids[name] = id
		parent := "00-" + id + "-00f067aa0ba902b7-01"
		if c.header == nil {
			c.header = map[string]string{}
		}
		if c.path == "/mcp" {
			c.body = strings.Replace(c.body, `"arguments"`, `"_meta": {"traceparent": "`+parent+`"}, "arguments"`, 1)
		} else {
			c.header["traceparent"] = parent
		}
		w.do(c)
	}
	traced("retrieval", post("/retrieve", `{"query": "what is the staging database of the shop?"}`)(p))
	traced("a document", get("/documents/notes/deploy.md")(p))
	traced("a chat", post("/proxy/model/v1/chat/completions", asked)(p))
	traced("a tool", mcpCall(p, 0, p.session, "tools/call", `{"name": "search_memory", "arguments": {"query": "what is the staging database of the shop?"}}`))
	forged := get("/documents/notes/deploy.md")(p)
	forged.tenant, forged.key = "someone-else", "Bearer mck_x_y"
	traced("a stranger", forged)
	require.NoError(t, end(t.Context()))
	mu.Lock()
	defer mu.Unlock()
	text := got.String()
	for name, id := range ids {
		raw, err := hex.DecodeString(id)
		require.NoError(t, err)
		require.Contains(t, text, string(raw), name)
	}
	for _, want := range []string{"POST /v1/tenants/{tenant}/retrieve", "search_memory", "upsert_memory", "gen_ai.operation.name", "gen_ai.memory.store.id", "gen_ai.memory.record.count", "memcore.tenant", "acme", "v1.2.3"} {
		require.Contains(t, text, want)
	}
	for _, never := range []string{"staging", "deploy", "someone-else", "mck_", w.model.key} {
		require.NotContains(t, text, never)
	}
	require.Empty(t, w.mustNotSee(nil, text))
}
