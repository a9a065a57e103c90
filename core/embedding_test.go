package core_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
)

// strictEmbedder records each text that exceeds the model's input.
type strictEmbedder struct {
	embed.Embedder
	mu        sync.Mutex
	queries   []string
	documents []string
	cut       []string
}

func (s *strictEmbedder) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	s.mu.Lock()
	for _, text := range texts {
		if s.CountTokens(text) > s.MaxTokens() {
			s.cut = append(s.cut, text[:min(len(text), 60)])
		}
		if kind == embed.Query {
			s.queries = append(s.queries, text)
		} else {
			s.documents = append(s.documents, text)
		}
	}
	s.mu.Unlock()
	return s.Embedder.Embed(ctx, kind, texts)
}

// hostile are texts that are hard to cut.
var hostile = map[string]string{
	"one long word":           strings.Repeat("a", 300_000),
	"no white space":          strings.Repeat("a1,b-2;", 2_000),
	"emoji":                   strings.Repeat("👩\u200d👩\u200d👧\u200d👦🇩🇪👍🏽", 5_000),
	"Chinese":                 strings.Repeat("每天凌晨三点检查密钥如果失败监控会报告", 300),
	"marks":                   "a" + strings.Repeat("\u0301", 100_000),
	"punctuation":             strings.Repeat("!?.", 2_000),
	"special tokens":          strings.Repeat("[SEP][CLS]", 5_000),
	"a huge heading":          "# " + strings.Repeat("heading words ", 2_000) + "\n\ntext below it",
	"deep headings":           "# " + strings.Repeat("one ", 50) + "\n## " + strings.Repeat("two ", 50) + "\n### " + strings.Repeat("three ", 50) + "\n#### " + strings.Repeat("four ", 50) + "\n\n" + strings.Repeat("text ", 400),
	"a huge table row":        "| a | b |\n|---|---|\n| " + strings.Repeat("cell ", 6_000) + " | x |\n",
	"a long line of code":     "```js\nvar x = [" + strings.Repeat("0x1f,", 1_000) + "]\n```\n",
	"frontmatter and nothing": "---\ntitle: " + strings.Repeat("long title ", 500) + "\n---\n\nshort",
	"white space":             strings.Repeat(" \n\t", 50_000) + "x",
	"not UTF-8":               strings.Repeat("\xff\xfe abc \xc3", 5_000),
}

// The model reads all of every text that it gets.
func TestNothingIsCut(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &strictEmbedder{Embedder: minilm.New()}
			m := newMemory(t)
			m.options.Embedder = e
			m.options.Injection = core.InjectionOff // which would have parts of the hits embedded, too
			m.write("notes.md", text)
			manager := m.open()
			report, err := manager.Index(t.Context(), core.IndexOptions{})
			require.NoError(t, err)
			require.Len(t, e.documents, report.Embedded, "texts that were embedded: a chunk of ours is never cut")
			_, err = manager.Search(t.Context(), text, core.SearchOptions{})
			require.NoError(t, err)
			for _, text := range e.cut {
				t.Errorf("the embedder was given more than it reads: %q…", text)
			}
			if len(e.queries) == 0 || len(e.queries) > 8 {
				t.Errorf("the query was embedded as %d texts, want 1 to 8", len(e.queries))
			}
		})
	}
}

// The question at the end of a long paste counts. A note names what was left out.
func TestLongQuery(t *testing.T) {
	m := newMemory(t)
	m.options.Embedder = minilm.New()
	m.write("tea.md", "# Tea\n\nThe green tea is in the cupboard above the sink.\n")
	m.write("door.md", "# Door\n\nThe key of the back door hangs beside the fridge.\n")
	manager := m.open()
	_, err := manager.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	log := strings.Repeat("2026-11-21 04:43:51 worker 7 finished job 1183 in 214 ms\n", 60)
	short, err := manager.Search(t.Context(), log+"\nWhere do we keep the beverage leaves?", core.SearchOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, short.Hits)
	if got := short.Hits[0].Source; !strings.HasPrefix(got, "notes/tea.md") {
		t.Errorf("best hit of a question after a page of log lines is %s, want notes/tea.md", got)
	}
	huge, err := manager.Search(t.Context(), strings.Repeat(log, 100)+"\nWhere do we keep the beverage leaves?", core.SearchOptions{})
	require.NoError(t, err)
	if got := strings.Join(huge.Degraded, "; "); !strings.Contains(got, "query is long") {
		t.Errorf("Degraded of a query of %d bytes = %q, want it to say that the query is long", 100*len(log), got)
	}
}
