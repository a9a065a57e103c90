//go:build servers

package app

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

// A real server embeds queries and documents with the prefixes that are set.
func TestServerGetsPrefixes(t *testing.T) {
	address := os.Getenv("MEMCORE_TEST_OLLAMA")
	require.NotEmpty(t, address, "MEMCORE_TEST_OLLAMA is not set: run .ci/servers")
	vector := func(settings string, kind embed.Kind, text string) []float32 {
		t.Helper()
		model, _ := modelOf(t, settings)
		vecs, err := model.Embed(t.Context(), kind, []string{text})
		require.NoError(t, err)
		return vecs[0]
	}
	const prefixes = `queryPrefix: "search_query: ", documentPrefix: "search_document: "}}`
	for _, own := range []string{
		"{embedder: ollama, ollama: {host: '" + address + "', ",
		"{embedder: openai, openai: {baseURL: 'http://" + address + "/v1', model: all-minilm, ",
	} {
		bare := own + "batch: 1}}"
		for kind, prefix := range map[embed.Kind]string{embed.Query: "search_query: ", embed.Document: "search_document: "} {
			got := vector(own+prefixes, kind, "which port does staging use")
			require.InDeltaSlice(t, vector(bare, kind, prefix+"which port does staging use"), got, 1e-4, own)
			require.NotEqual(t, vector(bare, kind, "which port does staging use"), got, own)
		}
	}
}
