package core_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
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

var _ embed.Embedder = limited{}
