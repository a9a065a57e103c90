package proxy_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// BenchmarkLatency asks an upstream with and without the proxy in turns. The difference is what the
// proxy adds before the first byte.
func BenchmarkLatency(b *testing.B) {
	question := `{"model":"m","messages":[{"role":"user","content":"which port does staging postgres use?"}]}`
	history := `{"model":"m","messages":[` + strings.Repeat(`{"role":"user","content":"`+strings.Repeat("a line of a file\\n", 60)+`"},{"role":"assistant","content":"`+
		strings.Repeat("and an answer to it. ", 50)+`"},`, 500) + strings.TrimPrefix(question, `{"model":"m","messages":[`)
	for _, bb := range []struct {
		name, body string
		memory     memory
	}{
		{"the proxy alone", question, &knows{hits: port}},
		{"with memory", question, workspace(b)},
		{"with memory, 1 MB of history", history, workspace(b)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			u := newUpstream(b, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "{}") })
			url := start(b, u.URL, bb.memory, proxy.Options{})
			var direct, through []time.Duration
			for b.Loop() {
				direct = append(direct, ask(b, u.URL, bb.body, false))
				through = append(through, ask(b, url, bb.body, true))
			}
			report(b, "direct", direct)
			report(b, "through", through)
		})
	}
}

// ask returns how long an answer took. injected says whether it must have memory.
func ask(b *testing.B, url, body string, injected bool) time.Duration {
	r := post(b, url+"/v1/chat/completions", body)
	began := time.Now()
	response, err := client.RoundTrip(r)
	took := time.Since(began)
	require.NoError(b, err)
	_, _ = io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if got := response.Header.Get("X-Memcore-Injected"); (got != "") != injected || got == "0" {
		b.Fatalf("injected %q: %s", got, response.Header.Get("X-Memcore-Reason"))
	}
	return took
}

func report(b *testing.B, name string, all []time.Duration) {
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), name+"-p50-µs")
	b.ReportMetric(float64(all[len(all)*95/100].Microseconds()), name+"-p95-µs")
}

// workspace returns a memory of testdata/workspace.
func workspace(b *testing.B) *core.Manager {
	folder, err := filepath.Abs(filepath.Join("..", "..", "testdata", "workspace"))
	require.NoError(b, err)
	m, err := core.Open(b.Context(), core.Options{
		Folder:   b.TempDir(),
		Sources:  []source.Source{source.NewFolder(source.FolderOptions{Path: folder, Scope: source.ScopeProject, Workspace: folder})},
		Embedder: minilm.New(),
		Engine: store.Engine{
			Name: "flat",
			Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
				return flat.Open(ctx, dir, dimension)
			},
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		},
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, m.Close()) })
	_, err = m.Index(b.Context(), core.IndexOptions{})
	require.NoError(b, err)
	return m
}
