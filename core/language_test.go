package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// In which language a question is reaches the relevance model, which knows what the embedder knows.
func TestLanguageOfQuestion(t *testing.T) {
	m := newMemory(t)
	opened := m.open()
	_, err := opened.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	for question, want := range map[string]string{
		"Which port does postgres of staging listen on?":  "",
		"¿En qué puerto escucha el servidor de postgres?": "es",
	} {
		q, _, err := opened.Evidence(t.Context(), question)
		require.NoError(t, err)
		require.Equal(t, want, q.Language, question)
	}
}
