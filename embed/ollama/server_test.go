//go:build servers

package ollama_test

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/ollama/ollama/api"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/embed/embedtest"
	"github.com/memcore/memcore/embed/ollama"
)

// real is the address of a server with the model all-minilm; .ci/servers starts it.
func real(t testing.TB) string {
	t.Helper()
	address := os.Getenv("MEMCORE_TEST_OLLAMA")
	if address == "" {
		t.Fatal("MEMCORE_TEST_OLLAMA is not set: run .ci/servers")
	}
	return address
}

func minilm(t *testing.T) embed.Embedder {
	return open(t, "all-minilm", ollama.Options{Address: real(t)})
}

func TestServerContract(t *testing.T) { embedtest.TestEmbedder(t, minilm) }
func TestServerMeaning(t *testing.T)  { embedtest.TestMeaning(t, minilm) }

func TestServerCached(t *testing.T) {
	dir := t.TempDir()
	embedtest.TestEmbedder(t, func(t *testing.T) embed.Embedder {
		c, err := cache.Open(minilm(t), dir, cache.Options{})
		require.NoError(t, err)
		return c
	})
}

func TestServerKnownAnswer(t *testing.T) {
	e := minilm(t)
	vecs, err := e.Embed(t.Context(), embed.Document, []string{"The cat sits outside", "A feline is outdoors", "A man is playing guitar"})
	require.NoError(t, err)
	for i, want := range []float64{1, 0.558, 0.036} {
		var got float64
		for j, x := range vecs[0] {
			got += float64(x) * float64(vecs[i][j])
		}
		if math.Abs(got-want) > 0.005 {
			t.Errorf("cosine of texts 0 and %d = %.3f, want %.3f", i, got, want)
		}
	}
	if e.Dimension() != 384 {
		t.Errorf("Dimension() = %d, want 384", e.Dimension())
	}
}

func TestServerUnknownModel(t *testing.T) {
	_, err := open(t, "no-such-model", ollama.Options{Address: real(t)}).Embed(t.Context(), embed.Document, []string{"a"})
	if !errors.Is(err, embed.ErrUnavailable) || !strings.Contains(err.Error(), "not found") {
		t.Errorf("Embed by an unknown model = %v, want ErrUnavailable that says so", err)
	}
}

// With MaxTokens beyond the model's input, the server cuts.
func TestServerCuts(t *testing.T) {
	e := open(t, "all-minilm", ollama.Options{Address: real(t), RemoteOptions: embed.RemoteOptions{MaxTokens: 100_000}})
	for _, text := range []string{strings.Repeat("memory of agents ", 5000), strings.Repeat("記憶", 5000), strings.Repeat("no spaces/", 500)} {
		if _, err := e.Embed(t.Context(), embed.Document, []string{text}); err != nil {
			t.Errorf("Embed of %d bytes of %.10s = %v", len(text), text, err)
		}
	}
}

// TestEstimate compares the estimate with a real tokeniser: never below it, and for prose not far
// above.
func TestEstimate(t *testing.T) {
	client := api.NewClient(&url.URL{Scheme: "http", Host: real(t)}, http.DefaultClient)
	e := minilm(t)
	for _, tt := range []struct {
		name, text string
		most       float64 // times the true number
	}{
		{"prose", "The staging database listens on port 5433. Before a deployment, somebody has to restart the worker, otherwise it keeps the old configuration in memory and answers with stale results.", 1.6},
		{"Markdown", "## Deployment\n\n- **Staging**: `make deploy ENV=staging`\n- **Production**: ask first!\n\n| host | port |\n|---|---|\n| db-1 | 5432 |\n", 2},
		{"code", "func getCacheStats(ctx context.Context, id string) (*CacheStats, error) {\n\tif err := ctx.Err(); err != nil {\n\t\treturn nil, fmt.Errorf(\"stats of %s: %w\", id, err)\n\t}\n}", 2},
		{"hashes", "commit 3f9ac1d07be2455f8e6f0a9bcd1234567890abcd, image sha256:9b2cf535f27731c974343645a3985328", 2},
		{"base64", "aGVsbG8gd29ybGQsIHRoaXMgaXMgYSB0ZXN0IG9mIGVzdGltYXRpb24gb2YgdG9rZW5z", 2},
		{"paths", "/usr/local/lib/python3.12/site-packages/numpy/core/_multiarray_umath.cpython-312.so", 2},
		{"German", "Die Datenschutzgrundverordnung verlangt eine Auftragsverarbeitungsvereinbarung mit jedem Dienstleister.", 2},
		{"Russian", "Сервер базы данных слушает порт пять тысяч, а резервная копия делается ночью.", 2},
		{"Chinese", "数据库服务器每天晚上备份一次，配置文件在主目录里。", 3},
		{"Japanese", "データベースのバックアップは毎晩行われます。", 6}, // whole words unknown to this model
		{"Korean", "데이터베이스 서버는 매일 밤 백업됩니다.", 6},
		{"Arabic", "خادم قاعدة البيانات يعمل كل ليلة", 3},
		{"Hindi", "डेटाबेस सर्वर हर रात बैकअप लेता है", 3},
	} {
		res, err := client.Embed(t.Context(), &api.EmbedRequest{Model: "all-minilm", Input: []string{tt.text}})
		require.NoError(t, err)
		got, want := e.CountTokens(tt.text), res.PromptEvalCount-2 // without the two special ones
		t.Logf("%-9s %3d estimated, %3d true, %.2f", tt.name, got, want, float64(got)/float64(want))
		if got < want || float64(got) > tt.most*float64(want) {
			t.Errorf("CountTokens of %s = %d, the model has %d; want no less, and at most %.1f times as many", tt.name, got, want, tt.most)
		}
	}
}

// The server gets queries and documents with the prefixes that are set.
func TestServerGetsPrefixes(t *testing.T) {
	const text = "which port does staging use"
	vector := func(kind embed.Kind, text string, o embed.RemoteOptions) []float32 {
		vecs, err := open(t, "all-minilm", ollama.Options{Address: real(t), RemoteOptions: o}).Embed(t.Context(), kind, []string{text})
		require.NoError(t, err)
		return vecs[0]
	}
	set := embed.RemoteOptions{QueryPrefix: "search_query: ", DocumentPrefix: "search_document: "}
	for kind, prefix := range map[embed.Kind]string{embed.Query: set.QueryPrefix, embed.Document: set.DocumentPrefix} {
		got := vector(kind, text, set)
		require.InDeltaSlice(t, vector(kind, prefix+text, embed.RemoteOptions{}), got, 1e-4)
		require.NotEqual(t, vector(kind, text, embed.RemoteOptions{}), got)
	}
}
