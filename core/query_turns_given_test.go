package core_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
)

// No explanation quotes a prompt with a secret.
func TestASecretIsNotExplained(t *testing.T) {
	m := newMemory(t).open()
	index(t, m)
	key := "ghp_" + "x7Kq9Rz2Lm4Wv8Yt6Bn3Cd5Fg1Hj0Ps9Qw2E"
	result, err := m.RetrieveRelevant(t.Context(), "which port does the staging postgres listen on, with the token "+key, core.RetrieveOptions{Explain: true})
	require.NoError(t, err)
	require.Empty(t, result.Why)
	require.NotContains(t, fmt.Sprintf("%+v", result), key)
}

// sameEmbedder finds everything alike.
type sameEmbedder struct{ *hashEmbedder }

func (sameEmbedder) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = hashVector("one")
	}
	return vectors, nil
}

// If all vectors of an embedder are alike, keywords answer questions.
func TestAnEmbedderThatTellsNothingApart(t *testing.T) {
	mem := newMemory(t)
	mem.options.Embedder = sameEmbedder{mem.embedder}
	m := mem.open()
	report := index(t, m)
	require.Empty(t, report.Degraded)
	result, err := m.RetrieveRelevant(t.Context(), "which port does the staging postgres listen on", core.RetrieveOptions{})
	require.NoError(t, err)
	require.Equal(t, "notes/staging.md#L1-L5", first(result))
}

// An index with missing files is damaged, and gets rebuilt.
func TestPartsOfAnIndexThatAreGone(t *testing.T) {
	for name, part := range map[string]string{"keywords": "1/keywords", "vectors": "1/vectors", "the name of the generation": "CURRENT"} {
		t.Run(name, func(t *testing.T) {
			mem := newMemory(t)
			m := mem.open()
			index(t, m)
			require.NoError(t, m.Close())
			require.NoError(t, os.RemoveAll(filepath.Join(mem.options.Folder, filepath.FromSlash(part))))
			m = mem.open()
			status, err := m.Status(t.Context())
			require.NoError(t, err)
			require.NotEqual(t, core.StateReady, status.State)
			require.Len(t, status.Problems, 1)
			require.Contains(t, status.Problems[0], "index again to rebuild it")
			_, err = m.Search(t.Context(), "staging postgres port", core.SearchOptions{})
			require.ErrorIs(t, err, store.ErrCorrupt)
			require.NotEmpty(t, index(t, m).Rebuilt)
			require.Equal(t, "notes/staging.md#L1-L5", first(search(t, m, "staging postgres port")))
		})
	}
}

// Without an index, Forget can begin its list.
func TestForgettingWithoutAnIndex(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	m := mem.open()
	_, err := m.Forget(t.Context(), "notes/staging.md")
	require.ErrorIs(t, err, core.ErrNotIndexed)
	_, err = m.Find(t.Context(), "00")
	require.ErrorIs(t, err, core.ErrNotIndexed)
	_, err = m.Remember(t.Context(), "notes/staging.md")
	require.ErrorIs(t, err, core.ErrNotForgotten)
	require.NoError(t, m.Check(t.Context()))

	index(t, m)
	gone, err := m.Forget(t.Context(), "notes/staging.md")
	require.NoError(t, err)
	require.Equal(t, 2, gone.Chunks)
	require.NoError(t, m.Close())
	require.NoError(t, os.RemoveAll(mem.options.Folder))
	m = mem.open()
	n, err := m.Remember(t.Context(), "notes/staging.md")
	require.NoError(t, err, "the list outlives the index")
	require.Equal(t, 1, n)

	// Nothing is indexed: what was forgotten would come back.
	require.NoError(t, os.WriteFile(mem.options.Forgotten, []byte("{"), 0o600))
	_, err = m.Index(t.Context(), core.IndexOptions{})
	require.ErrorContains(t, err, "without the list it is found again")
	_, err = m.Remember(t.Context(), "notes/staging.md")
	require.ErrorContains(t, err, "list of forgotten texts")
	require.NoError(t, os.Remove(mem.options.Forgotten))
	index(t, m)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = m.Find(ended, "00")
	require.ErrorIs(t, err, context.Canceled)
}

// Each way of writing reports a list that was damaged after indexing.
func TestAListOfTheForgottenThatIsDamaged(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	mem.options.Freshness = time.Minute
	away := error(embed.ErrUnavailable)
	mem.embedder.fail.Store(&away)
	m := mem.open()
	index(t, m)
	mem.embedder.fail.Store(nil)
	require.NoError(t, os.WriteFile(mem.options.Forgotten, []byte("{"), 0o600))
	for name, write := range map[string]string{"chunks without a vector": "", "a new note": "new.md"} {
		if write != "" {
			mem.write(write, "# Airships\n\nThe zeppelin lands at noon.\n")
		}
		result, err := m.Search(t.Context(), "staging postgres port", core.SearchOptions{})
		require.NoError(t, err)
		require.NotNil(t, result.Stale, name)
		require.Contains(t, result.Stale.Reason, "what is forgotten cannot be read", name)
		require.Equal(t, "notes/staging.md#L1-L5", first(result), name)
	}
	_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.ErrorContains(t, err, "without the list it is found again")
	require.NoError(t, os.Remove(mem.options.Forgotten))
	index(t, m)
}

// Malformed lines and unreadable files are counted by reason.
func TestWhatIsLeftOutIsCounted(t *testing.T) {
	mem := newMemory(t)
	mem.write("chat.jsonl", `{"role":"user","content":"the zebra lives in the red house"}`+"\n"+`{"role":"assistant","content":"I will remember where the animal lives."}`+"\n"+"nonsense\n"+"{\"role\": \n")
	m := mem.open()
	report := index(t, m)
	lines := 0
	for reason, n := range report.SkippedLines {
		require.NotEmpty(t, reason)
		lines += n
	}
	require.Equal(t, 2, lines)

	log, err := os.ReadFile(filepath.Join("source", "testdata", "claude-code.jsonl"))
	require.NoError(t, err)
	mem.write("agent.jsonl", string(log))
	index(t, m)
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	require.NotNil(t, status.Logs)
	sum := status.Logs.Kept
	for _, n := range status.Logs.LeftOut {
		sum += n
	}
	require.Equal(t, status.Logs.Turns, sum)
}

// A watch reports a folder that cannot be listed.
func TestWatchOfASourceThatCannotBeListed(t *testing.T) {
	mem := newMemory(t)
	mem.options.Sources = append(mem.options.Sources, faultySource{})
	m := mem.open()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []string
	err := m.Watch(ctx, core.WatchOptions{Indexed: func(r core.IndexReport, err error) {
		told = append(told, fmt.Sprint(r.Warnings, err))
		cancel()
	}})
	require.True(t, errors.Is(err, context.Canceled), err)
	require.Len(t, told, 1)
	require.True(t, strings.Contains(told[0], "attic: "+errDisk.Error()), told[0])
	ended := m.Watch(ctx, core.WatchOptions{})
	require.ErrorIs(t, ended, context.Canceled)
}
