package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

// A sentEmbedder keeps what it is sent.
type sentEmbedder struct {
	embed.Embedder
	sent []string
}

func (s *sentEmbedder) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	s.sent = append(s.sent, texts...)
	return make([][]float32, len(texts)), nil
}

// What is asked goes to a server without secrets, and the caller's texts stay as they are.
func TestQueriesAreSentWithoutSecrets(t *testing.T) {
	server := &sentEmbedder{}
	texts := []string{"why does password: s3cr3t-one not work", "which port"}
	_, err := discreet{server}.Embed(t.Context(), embed.Query, texts)
	require.NoError(t, err)
	require.Equal(t, []string{"why does password: [redacted: password] not work", "which port"}, server.sent)
	require.Contains(t, texts[0], "s3cr3t-one")
	for _, c := range []struct {
		embedder string
		redact   bool
		want     bool
	}{{"ollama", true, true}, {"openai", true, true}, {"ollama", false, false}, {"minilm", true, false}} {
		a := &app{}
		a.settings.Embedder, a.settings.Redact = c.embedder, c.redact
		a.settings.Ollama.Host, a.settings.Ollama.Model, a.settings.OpenAI.BaseURL, a.settings.OpenAI.Model = "http://127.0.0.1:1", "m", "http://127.0.0.1:1/v1", "m"
		inner, err := a.uncached()
		require.NoError(t, err)
		_, is := inner.(discreet)
		require.Equal(t, c.want, is, "%+v", c)
	}
}

func TestShownAddress(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:11434":       "http://127.0.0.1:11434",
		"http://ada:p@ss@host:1/v1":    "http://host:1/v1",
		"ada:pass@host":                "host",
		"s3://bucket/team":             "s3://bucket/team",
		"https://ada:pass@[::1/broken": "https://[::1/broken",
	} {
		require.Equal(t, want, shownAddress(address))
	}
}
