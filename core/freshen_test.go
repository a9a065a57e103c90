package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
)

// A note that was folded in without time for its vector is found by its words as if there were no
// vectors, and has a vector after the next query.
func TestNewNoteWithoutVector(t *testing.T) {
	mem := newMemory(t)
	mem.options.Freshness = time.Nanosecond
	m := mem.open()
	index(t, m)
	time.Sleep(200 * time.Millisecond) // so that nothing is Unsure
	away := error(embed.ErrUnavailable)
	mem.write("zeppelin.md", "# Zeppelin\n\nThe zeppelin is moored by Ines at the third mast.\n")
	time.Sleep(200 * time.Millisecond)
	ask := func() core.Result {
		result, err := m.RetrieveRelevant(t.Context(), "who moors a zeppelin to its mast", core.RetrieveOptions{})
		require.NoError(t, err)
		return result
	}
	result := ask()
	require.Equal(t, "notes/zeppelin.md#L1-L3", first(result), "judged by its words")
	require.NotNil(t, result.Unembedded)

	mem.embedder.fail.Store(&away)
	require.NotNil(t, ask().Unembedded, "an embedder that is away costs the vector, not the answer")
	mem.embedder.fail.Store(nil)
	result = ask()
	require.Nil(t, result.Unembedded, "nothing has changed, yet the query embeds what is pending")
	require.Equal(t, "notes/zeppelin.md#L1-L3", first(result))
}

// The scale of an embedder that no model was fitted to is measured by the first Index, once, and
// vectors count from then on.
func TestScaleIsMeasuredOnce(t *testing.T) {
	mem := newMemory(t)
	noting := &notingEmbedder{hashEmbedder: mem.embedder}
	measured := 0
	mem.options.Embedder = counting{noting, &measured}
	m := mem.open()
	index(t, m)
	require.Equal(t, 1, measured)
	mem.write("zeppelin.md", "# Zeppelin\n\nThe zeppelin lands at noon.\n")
	index(t, m)
	require.Equal(t, 1, measured)
	result, err := m.RetrieveRelevant(t.Context(), "which port does the staging postgres listen on", core.RetrieveOptions{Explain: true})
	require.NoError(t, err)
	require.Contains(t, result.Why, "the nearest has cosine")
	require.Equal(t, "notes/staging.md#L1-L5", first(result))
}

// counting counts how often the texts of a Scale are embedded.
type counting struct {
	embed.Embedder
	measured *int
}

func (c counting) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if kind == embed.Document && measures(texts) {
		*c.measured++
	}
	return c.Embedder.Embed(ctx, kind, texts)
}
