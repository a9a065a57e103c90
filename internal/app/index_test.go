package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

// A sentEmbedder records the texts it gets.
type sentEmbedder struct {
	embed.Embedder
	sent []string
}

func (s *sentEmbedder) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	s.sent = append(s.sent, texts...)
	return make([][]float32, len(texts)), nil
}

// Queries reach a server without secrets, and the caller's texts do not change.
func TestQueriesAreSentWithoutSecrets(t *testing.T) {
	server := &sentEmbedder{}
	texts := []string{"why does password: s3cr3t-one not work", "which port", "Tr4nsf0rm-Kx82-Gate!"}
	_, err := discreet{server}.Embed(t.Context(), embed.Query, texts)
	require.NoError(t, err)
	require.Equal(t, []string{"why does password: [redacted: password] not work", "which port", "[redacted: unknown]"}, server.sent)
	require.Contains(t, texts[0], "s3cr3t-one")
	for _, c := range []struct {
		embedder string
		redact   bool
		want     bool
	}{{"ollama", true, true}, {"openai", true, true}, {"ollama", false, false}, {"minilm", true, false}} {
		w := at("")
		w.Settings.Embedder, w.Settings.Redact = c.embedder, c.redact
		w.Settings.Ollama.Host, w.Settings.Ollama.Model, w.Settings.OpenAI.BaseURL, w.Settings.OpenAI.Model = "http://127.0.0.1:1", "m", "http://127.0.0.1:1/v1", "m"
		inner, err := w.Index().Uncached()
		require.NoError(t, err)
		_, is := inner.(discreet)
		require.Equal(t, c.want, is, "%+v", c)
	}
}

// modelOf returns the embedder of a user with these settings.
func modelOf(t *testing.T, settings string) embed.Embedder {
	t.Helper()
	w := at("")
	w.Home, w.Project = t.TempDir(), t.TempDir()
	file := filepath.Join(w.Home, ".beans", "config.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte("memory: "+settings), 0o600))
	require.NoError(t, w.Load())
	model, err := w.Index().Model()
	require.NoError(t, err)
	return model
}

// What is known of a model reaches its server.
func TestPrefixesReachTheServer(t *testing.T) {
	var sent map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = nil
		_ = json.NewDecoder(r.Body).Decode(&sent)
		fmt.Fprint(w, `{"embeddings": [[1, 0]], "data": [{"embedding": [1, 0]}]}`)
	}))
	defer server.Close()
	for _, tt := range []struct {
		settings        string
		query, document string
		tokens          int
	}{
		{`{model: m}`, "", "", 0},
		{`{model: all-minilm}`, "", "", 0},
		{`{model: nomic-embed-text}`, "search_query: ", "search_document: ", 2042},
		{`{model: "qwen3-embedding:0.6b"}`, "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", "", 0},
	} {
		for _, embedder := range []string{
			"{embedder: ollama, ollama: {host: '" + server.URL + "', " + tt.settings[1:] + "}",
			"{embedder: openai, openai: {baseURL: '" + server.URL + "/v1', " + tt.settings[1:] + "}",
		} {
			model := modelOf(t, embedder)
			for kind, prefix := range map[embed.Kind]string{embed.Query: tt.query, embed.Document: tt.document} {
				_, err := model.Embed(t.Context(), kind, []string{"text"})
				require.NoError(t, err)
				require.Equal(t, []any{prefix + "text"}, sent["input"], embedder)
			}
			if tt.tokens > 0 {
				require.Equal(t, tt.tokens, model.MaxTokens(), embedder)
			}
		}
	}
}
