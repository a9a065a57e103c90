package core_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/store"
)

// checkFit makes chunks of a note, of speech, and of tools' texts. None may exceed the model's
// input.
func checkFit(t *testing.T, text string, options chunker.Options) {
	t.Helper()
	m := minilm.New()
	if options.Max <= 0 {
		options.Max = max(240, options.Target)
	}
	options.Max = min(options.Max, m.MaxTokens()) // as core.Open does
	options.Count = m.CountTokens
	chunks := chunker.Markdown("a.md", []byte(text), options).Chunks
	chunks = append(chunks, chunker.Conversation("a.jsonl", []chunker.Turn{
		{Line: 1, EndLine: 1, Role: "user", Text: text, Time: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)},
		{Line: 2, EndLine: 2, Role: "user", Speaker: text, Text: text, Time: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)},
		{Line: 3, EndLine: 3, Role: "assistant", Session: text, Tools: []chunker.ToolUse{{Name: text, Input: text, Output: text}, {Name: "t", Output: text}}},
	}, options)...)
	limit := max(options.Max, 32)
	for i, c := range chunks {
		embedded := chunker.EmbeddingText(c.Headings, c.Speaker, c.Time, c.Text)
		if n := m.CountTokens(embedded); n > limit {
			t.Errorf("chunk %d of %d, with %+v, has %d tokens, want at most %d: %.100q…", i, len(chunks), options, n, limit, embedded)
		}
	}
}

// Chunks of any size and content fit the model.
func TestChunksFitTheModel(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, o := range []chunker.Options{{}, {Max: 254, Target: 254, Overlap: 60}, {Max: 32}, {Max: 1 << 20}, {Target: -5, Max: 77, Overlap: -1}} {
				checkFit(t, text[:min(len(text), 20_000)], o)
			}
			if !testing.Short() {
				checkFit(t, strings.Repeat(text, 1+(1<<17)/len(text)), chunker.Options{})
			}
		})
	}
}

func FuzzChunksFitTheModel(f *testing.F) {
	for _, text := range hostile {
		f.Add(text[:min(len(text), 4000)], 0, 0, 0)
	}
	f.Add("# A\n\n| a | b |\n|---|---|\n| [SEP] | ÅÅ |\n\n```\nx\n```\n", 40, 40, 10)
	f.Fuzz(func(t *testing.T, text string, size, target, overlap int) {
		checkFit(t, text, chunker.Options{Max: size, Target: target, Overlap: overlap})
	})
}

// limited is an embedder that reads so many tokens.
type limited struct {
	*strictEmbedder
	limit int
}

func (l limited) MaxTokens() int { return l.limit }

// Open lowers and logs a chunk size beyond the model's.
func TestChunkSizeIsFitted(t *testing.T) {
	for _, tt := range []struct {
		name        string
		asked       chunker.Options
		least, most int // size of the largest chunk
		warning     string
	}{
		{"default", chunker.Options{}, 150, 240, ""},
		{"what the model reads", chunker.Options{Max: 254, Target: 254}, 241, 254, ""},
		{"more than it reads", chunker.Options{Max: 1000, Target: 1000}, 241, 254, "asked=1000 tokens=254"},
		{"a target alone", chunker.Options{Target: 600}, 241, 254, "asked=600 tokens=254"},
		{"a target beyond the default", chunker.Options{Target: 250}, 241, 250, ""},
		{"small", chunker.Options{Max: 64}, 33, 64, ""},
		{"nonsense", chunker.Options{Max: -7, Target: -7}, 150, 240, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory(t)
			m.write("long.md", "# Long\n\n"+strings.Repeat("The ferry leaves at nine, and nobody waits. ", 150))
			e := &strictEmbedder{Embedder: minilm.New()}
			var log bytes.Buffer
			m.options.Embedder, m.options.Chunking = e, tt.asked
			m.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
			report, err := m.open().Index(t.Context(), core.IndexOptions{})
			require.NoError(t, err)
			require.Len(t, e.documents, report.Embedded, "texts that were embedded: a chunk of ours is never cut")
			largest := 0
			for _, text := range e.documents {
				largest = max(largest, e.CountTokens(text))
			}
			if largest < tt.least || largest > tt.most || len(e.cut) > 0 {
				t.Errorf("the largest chunk has %d tokens, want %d to %d", largest, tt.least, tt.most)
			}
			if got := log.String(); !strings.Contains(got, tt.warning) || (tt.warning == "") != !strings.Contains(got, "smaller than asked for") {
				t.Errorf("log %q, want %q in it", got, tt.warning)
			}
		})
	}
}

func TestModelThatReadsAlmostNothingIsRefused(t *testing.T) {
	for limit, ok := range map[int]bool{32: true, 31: false, 0: false, -1: false} {
		m := newMemory(t)
		m.options.Embedder = limited{&strictEmbedder{Embedder: minilm.New()}, limit}
		manager, err := core.Open(t.Context(), m.options)
		if err == nil {
			require.NoError(t, manager.Close())
		}
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("reads %d tokens", limit)) {
			t.Errorf("Open with an embedder that reads %d tokens: %v, want success %t", limit, err, ok)
		}
	}
}

// oneShared is a storage with some records of another memory.
type oneShared struct {
	awayShared
	records []store.Record
}

func (s oneShared) Owned(context.Context, string) ([]store.Record, error) { return nil, nil }

func (s oneShared) Publish(context.Context, string, string, []store.Record, []store.Record) error {
	return nil
}

func (s oneShared) Changes(_ context.Context, _ string, since store.Cursor) ([]store.Change, store.Cursor, error) {
	now := store.Cursor{"": 7, "there": 1}
	if since["there"] == 1 {
		return nil, now, nil
	}
	var changes []store.Change
	for _, r := range s.records {
		changes = append(changes, store.Change{Owner: "there", Record: r})
	}
	return changes, now, nil
}

// Another memory's chunks that exceed the model's input are embedded whole.
func TestForeignTextsAreNotCut(t *testing.T) {
	record := func(id, path, text string, headings ...string) store.Record {
		return store.Record{ID: strings.Repeat(id, 32), Scope: "project", Kind: "markdown", Path: path, StartLine: 1, EndLine: 9, Headings: headings, Text: text}
	}
	filler := strings.Repeat("Meanwhile the printer on the second floor needs paper, as every week. ", 60)
	m := newMemory(t)
	e := &strictEmbedder{Embedder: minilm.New()}
	m.options.Embedder = e
	m.options.Owner, m.options.Shared = "here", oneShared{records: []store.Record{
		record("1", "long.md", filler+"The walrus enclosure is cleaned by Odile."),
		record("2", "chinese.md", strings.Repeat("每天凌晨三点检查密钥如果失败监控会报告", 60)),
		record("3", "headings.md", "short", strings.Repeat("heading ", 900)),
		record("4", "white.md", strings.Repeat("\u200b", 4000)),
		record("5", "huge-heading.md", "too much in all", strings.Repeat("heading ", 9000)),
	}}
	manager := m.open()
	report, err := manager.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Degraded)
	require.Zero(t, report.Pending)
	require.Equal(t, 4, report.Shared.Pulled-1, "records taken over")
	require.Equal(t, 3+4, report.Documents)
	for _, text := range e.cut {
		t.Errorf("the embedder was given more than it reads: %q…", text)
	}
	if all := strings.Join(e.documents, "\n"); !strings.Contains(all, "walrus enclosure") || !strings.Contains(all, "监控会报告") {
		t.Errorf("the end of a long text is in none of the %d texts that were embedded", len(e.documents))
	}
	result, err := manager.Search(t.Context(), "who looks after the walrus", core.SearchOptions{Explain: true})
	require.NoError(t, err)
	i := slices.IndexFunc(result.Hits, func(h core.MemoryHit) bool { return h.Path == "shared:there/long.md" })
	if i < 0 || result.Hits[i].Explain.Cosine == nil {
		t.Errorf("hit %d of %d is shared:there/long.md, want it among them, with a cosine", i, len(result.Hits))
	}
}

var _ embed.Embedder = limited{}
