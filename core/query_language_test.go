package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// The relevance model gets the language of a question.
func TestLanguageOfQuestion(t *testing.T) {
	m := newMemory(t)
	opened := m.open()
	_, err := opened.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	for question, want := range map[string]string{
		"Which port does postgres of staging listen on?":  "",
		"¿En qué puerto escucha el servidor de postgres?": "es",
	} {
		q, _, err := opened.Evidence(t.Context(), question, core.RetrieveOptions{})
		require.NoError(t, err)
		require.Equal(t, want, q.Language, question)
	}
}
