package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
)

// A query without time for a new note's vector finds the note by its words. The next query makes
// the vector.
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

// Removed text is not found by its old vector, which stays for now.
func TestChangedTextIsNotFoundByItsOldVector(t *testing.T) {
	mem := newMemory(t)
	mem.options.Freshness = 20 * time.Second
	m := mem.open()
	mem.write("zeppelin.md", "# Zeppelin\n\nThe zeppelin is moored at the third mast.\n")
	index(t, m)
	mem.write("zeppelin.md", "# Zeppelin\n\nThe zeppelin is moored at the seventh mast.\n")
	away := error(embed.ErrUnavailable)
	mem.embedder.failDocuments.Store(&away)
	result, err := m.Search(t.Context(), "moored zeppelin mast", core.SearchOptions{Path: "notes/zeppelin.md"})
	require.NoError(t, err)
	require.Len(t, result.Hits, 1)
	require.Contains(t, result.Hits[0].Text, "seventh")
	require.NotNil(t, result.Unembedded)
}

// The first Index measures an unknown embedder's scale, once.
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

// A query does not unpack a log, whose size says nothing of its length. Indexing reads it.
func TestQueriesDoNotUnpack(t *testing.T) {
	mem := newMemory(t)
	mem.options.Freshness = 20 * time.Second
	m := mem.open()
	index(t, m)
	packer, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	mem.write("old.jsonl.zst", string(packer.EncodeAll([]byte(agentLog(millLog...)), nil)))
	mem.write("new.md", "# Airships\n\nThe zeppelin lands at noon.\n")
	require.Equal(t, "notes/new.md#L1-L3", first(search(t, m, "zeppelin")), "what can be read at once is")
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, status.Stale.Files)

	index(t, m)
	require.Contains(t, first(search(t, m, "why does the door stick, frame warped")), "notes/old.jsonl.zst")
}
