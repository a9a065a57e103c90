package core_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
)

// notingEmbedder notes the documents it embeds, in order.
type notingEmbedder struct {
	*hashEmbedder
	mu    sync.Mutex
	texts []string
}

func (n *notingEmbedder) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if kind == embed.Document && !measures(texts) {
		n.mu.Lock()
		n.texts = append(n.texts, texts...)
		n.mu.Unlock()
	}
	return n.hashEmbedder.Embed(ctx, kind, texts)
}

// place is where the first text with some words was embedded.
func (n *notingEmbedder) place(words string) int {
	return slices.IndexFunc(n.texts, func(text string) bool { return strings.Contains(text, words) })
}

func (m *memory) age(name string, age time.Duration) {
	at := time.Now().Add(-age)
	require.NoError(m.t, os.Chtimes(filepath.Join(m.notes, name), at, at))
}

const day = 24 * time.Hour

func TestNewestFirst(t *testing.T) {
	mem := newMemory(t)
	for i := range 70 { // more than are embedded together
		name := fmt.Sprintf("old/%02d.md", i)
		mem.write(name, fmt.Sprintf("# Old %d\n\nNothing much about subject%d.\n", i, i))
		mem.age(name, time.Duration(100+i)*day)
	}
	mem.write("new.md", "# New\n\nThe zeppelin has landed.\n")
	mem.age("new.md", day)
	m := mem.open()
	index(t, m)
	require.NoError(t, m.Close())

	noting := &notingEmbedder{hashEmbedder: &hashEmbedder{name: "b"}} // another model: everything is embedded again
	mem.options.Embedder = noting
	index(t, mem.open())
	places := []int{noting.place("zeppelin"), noting.place("subject3."), noting.place("subject69")}
	if places[0] < 0 || !slices.IsSorted(places) {
		t.Errorf("the new, the old and the oldest document were embedded at %d, want that order", places)
	}
}

// A huge log does not keep small notes waiting.
func TestLongDocumentTakesTurns(t *testing.T) {
	mem := newMemory(t)
	var long strings.Builder
	for i := range 700 {
		fmt.Fprintf(&long, "## Part %d\n\n%s\n\n", i, strings.Repeat(fmt.Sprintf("long%d ", i), 120))
	}
	mem.write("long.md", long.String())
	mem.age("long.md", time.Minute)
	mem.write("small.md", "# Small\n\nThe zeppelin has landed.\n")
	mem.age("small.md", 50*day)
	noting := &notingEmbedder{hashEmbedder: &hashEmbedder{name: "a"}}
	mem.options.Embedder = noting
	m := mem.open()
	totals := map[int]bool{}
	var last core.Progress
	report, err := m.Index(t.Context(), core.IndexOptions{Progress: func(p core.Progress) {
		if p.Stage == "embed" {
			totals[p.Total], last = true, p
		}
	}})
	require.NoError(t, err)
	if at := noting.place("zeppelin"); at < 0 || at > 300 {
		t.Errorf("the small note was embedded at %d of %d, want it after the first turn of the long one", at, len(noting.texts))
	}
	if len(noting.texts) != report.Chunks || report.Pending != 0 || report.Embedded != report.Chunks {
		t.Errorf("%d texts were embedded, report %+v, want each of %d chunks once and none pending", len(noting.texts), report, report.Chunks)
	}
	if last.Done != report.Chunks || len(totals) != 1 || !totals[report.Chunks] {
		t.Errorf("progress ended at %d of %v, want %d of %d all the time", last.Done, totals, report.Chunks, report.Chunks)
	}
}

// Two logs are embedded in alternation, and no chunk twice.
func TestLongDocumentsTakeTurnsWithEachOther(t *testing.T) {
	mem := newMemory(t)
	for i := range 800 { // commits have become large when it is the logs' turn
		mem.write(fmt.Sprintf("new/%03d.md", i), fmt.Sprintf("# New %d\n\nAbout topic%d.\n", i, i))
	}
	for name, parts := range map[string]int{"longer": 3000, "long": 400} {
		var text strings.Builder
		for i := range parts {
			fmt.Fprintf(&text, "## Part %d\n\n%s\n\n", i, strings.Repeat(fmt.Sprintf("%s%dx ", name, i), 120))
		}
		mem.write(name+".md", text.String())
		mem.age(name+".md", time.Duration(len(name))*day)
	}
	mem.age("longer.md", day) // it comes first
	noting := &notingEmbedder{hashEmbedder: &hashEmbedder{name: "a"}}
	mem.options.Embedder = noting
	report := index(t, mem.open())
	if len(noting.texts) != report.Chunks || report.Embedded != report.Chunks || report.Pending != 0 {
		t.Errorf("%d texts were embedded, report %+v, want each of %d chunks once and none pending", len(noting.texts), report, report.Chunks)
	}
	places := []int{noting.place("longer0x"), noting.place("long0x"), noting.place("longer300x"), noting.place("long399x"), noting.place("longer2999x")}
	if places[0] < 0 || !slices.IsSorted(places) {
		t.Errorf("parts of two logs were embedded at %d, want them to take turns", places)
	}
}

// While vectors are made, other processes find text, with a note.
func TestSearchWhileEmbedding(t *testing.T) {
	mem := newMemory(t)
	for i := range 300 {
		mem.write(fmt.Sprintf("many/%03d.md", i), fmt.Sprintf("# Note %d\n\nAbout topic%d and more.\n", i, i))
	}
	m, other := mem.open(), mem.open()
	var pending []int
	_, err := m.Index(t.Context(), core.IndexOptions{Progress: func(p core.Progress) {
		if p.Stage != "embed" {
			return
		}
		result, err := other.Search(t.Context(), "topic8", core.SearchOptions{})
		require.NoError(t, err)
		require.Equal(t, "notes/many/008.md#L1-L3", first(result))
		require.NotNil(t, result.Unembedded)
		require.Contains(t, strings.Join(result.Degraded, " "), "have no vector yet")
		pending = append(pending, result.Unembedded.Pending)
	}})
	require.NoError(t, err)
	if len(pending) < 3 || pending[0] < pending[1] || pending[len(pending)-1] >= pending[0] {
		t.Errorf("chunks without a vector as a search saw them: %d, want fewer and fewer, from the first hundred on", pending)
	}
	if result := search(t, other, "topic8"); result.Unembedded != nil {
		t.Errorf("Unembedded after indexing = %+v, want nil", result.Unembedded)
	}
}

// An interrupted run repeats at most one group.
func TestNothingIsEmbeddedTwice(t *testing.T) {
	mem := newMemory(t)
	for i := range 400 {
		mem.write(fmt.Sprintf("many/%03d.md", i), fmt.Sprintf("# Note %d\n\nAbout topic%d and more.\n", i, i))
	}
	m := mem.open()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := m.Index(ctx, core.IndexOptions{Progress: func(p core.Progress) {
		if p.Stage == "embed" && p.Done >= 200 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
	report := index(t, m)
	if total := mem.embedder.texts.Load(); report.Pending != 0 || total != int64(report.Chunks) {
		t.Errorf("%d texts were embedded for %d chunks, %d pending; want each once", total, report.Chunks, report.Pending)
	}
}
