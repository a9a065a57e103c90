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

// A question is across languages if the nearest chunks are all in others and memory holds few of
// its words.
func TestQuestionAcrossLanguages(t *testing.T) {
	mem := newMemory(t)
	mem.write("urlaub.md", "# Urlaub\n\nIm August ist das Büro geschlossen, und die Anträge gehen an Frau Öztürk.\n")
	m := mem.open()
	index(t, m)
	for question, want := range map[string]bool{
		"¿Quién está de guardia y cuándo?":     true,
		"Auf welchem Anschluss lauscht sie?":   false, // a near chunk is German, too, and near for that alone
		"какой порт у базы":                    true,
		"数据库监听哪个端口？":                           true,
		"Welcher postgres listens auf staging": false, // memory holds half of it
		"who grows cucumbers":                  false,
		"which port does staging postgres use": false,
	} {
		q, _, err := m.Evidence(t.Context(), question, core.RetrieveOptions{})
		require.NoError(t, err)
		require.Equal(t, want, q.Across, question)
	}
}
