package app

import (
	"context"
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
		w := at("")
		w.Settings.Embedder, w.Settings.Redact = c.embedder, c.redact
		w.Settings.Ollama.Host, w.Settings.Ollama.Model, w.Settings.OpenAI.BaseURL, w.Settings.OpenAI.Model = "http://127.0.0.1:1", "m", "http://127.0.0.1:1/v1", "m"
		inner, err := w.Index().uncached()
		require.NoError(t, err)
		_, is := inner.(discreet)
		require.Equal(t, c.want, is, "%+v", c)
	}
}
