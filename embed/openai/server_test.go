//go:build servers

package openai_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/embedtest"
	"github.com/memcore/memcore/embed/ollama"
	"github.com/memcore/memcore/embed/openai"
)

// real is the address of an Ollama server, which has OpenAI's protocol too, with the model
// all-minilm; .ci/servers starts it.
func real(t testing.TB) string {
	t.Helper()
	address := os.Getenv("MEMCORE_TEST_OLLAMA")
	if address == "" {
		t.Fatal("MEMCORE_TEST_OLLAMA is not set: run .ci/servers")
	}
	return address
}

func minilm(t *testing.T, opts openai.Options) *openai.Embedder {
	t.Helper()
	opts.BaseURL, opts.Key = "http://"+real(t)+"/v1", openai.NewKey(secret)
	e, err := openai.New("all-minilm", opts)
	require.NoError(t, err)
	return e
}

func TestServerContract(t *testing.T) {
	embedtest.TestEmbedder(t, func(t *testing.T) embed.Embedder {
		return minilm(t, openai.Options{RemoteOptions: embed.RemoteOptions{MaxTokens: 512}})
	})
}

func TestServerMeaning(t *testing.T) {
	embedtest.TestMeaning(t, func(t *testing.T) embed.Embedder { return minilm(t, openai.Options{}) })
}

// The same server gives equal vectors by both protocols.
func TestServerAgreesWithOllama(t *testing.T) {
	other, err := ollama.New("all-minilm", ollama.Options{Address: real(t)})
	require.NoError(t, err)
	texts := []string{"", "The cat sits outside", "記憶", strings.Repeat("long text ", 150)}
	a, err := minilm(t, openai.Options{RemoteOptions: embed.RemoteOptions{MaxTokens: ollama.DefaultMaxTokens}}).Embed(t.Context(), embed.Document, texts)
	require.NoError(t, err)
	b, err := other.Embed(t.Context(), embed.Document, texts)
	require.NoError(t, err)
	for i := range texts {
		for j := range a[i] {
			if math.Abs(float64(a[i][j]-b[i][j])) > 1e-4 {
				t.Fatalf("number %d of the vector of %.20q = %f, by Ollama's protocol %f", j, texts[i], a[i][j], b[i][j])
			}
		}
	}
}

func TestServerUnknownModel(t *testing.T) {
	e, err := openai.New("no-such-model", openai.Options{BaseURL: "http://" + real(t) + "/v1"})
	require.NoError(t, err)
	if _, err := e.Embed(t.Context(), embed.Document, []string{"a"}); !errors.Is(err, embed.ErrUnavailable) || !strings.Contains(err.Error(), "not found") {
		t.Errorf("Embed by an unknown model = %v, want ErrUnavailable that says so", err)
	}
}
