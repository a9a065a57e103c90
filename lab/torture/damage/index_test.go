package damage

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/lab/torture/harness"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// words embeds texts as bags of words.
type words struct{}

const dimension = 64

func (words) Embed(ctx context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, dimension)
		v[0] = 0.1
		for _, word := range strings.Fields(strings.ToLower(text)) {
			sum := fnv.New32a()
			sum.Write([]byte(strings.Trim(word, ".,:?#")))
			v[sum.Sum32()%dimension]++
		}
		norm := 0.0
		for _, x := range v {
			norm += float64(x * x)
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(norm))
		}
		vectors[i] = v
	}
	return vectors, ctx.Err()
}
func (words) Dimension() int              { return dimension }
func (words) Fingerprint() string         { return "words" }
func (words) MaxTokens() int              { return 256 }
func (words) CountTokens(text string) int { return len(strings.Fields(text)) }

// A memory has notes, conversations, and an index with cached embeddings.
type memory struct {
	t                   *testing.T
	notes, index, cache string
}

// writeEarlier writes an older file.
func writeEarlier(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, past, past))
}

func (m memory) note(name, text string) {
	m.t.Helper()
	writeEarlier(m.t, filepath.Join(m.notes, name), text)
}

func (m memory) open() *core.Manager {
	m.t.Helper()
	cached, err := cache.Open(words{}, m.cache, cache.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(m.t, err)
	opened, err := core.Open(m.t.Context(), core.Options{
		Folder:  m.index,
		Sources: []source.Source{source.NewFolder(source.FolderOptions{Path: m.notes, Workspace: m.notes})},
		Engine: store.Engine{Name: "flat",
			Vectors:  func(ctx context.Context, dir string, d int) (store.VectorIndex, error) { return flat.Open(ctx, dir, d) },
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) }},
		Embedder: cached, Freshness: -1, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(m.t, err)
	return opened
}

// newMemory indexes in several runs, for several segments, deleted rows and resumed logs.
func newMemory(t *testing.T) memory {
	dir := quickDir(t)
	m := memory{t, filepath.Join(t.TempDir(), "notes"), filepath.Join(dir, "index"), filepath.Join(dir, "cache")}
	nouns := strings.Fields("zeppelin postgres harbour quokka ledger beacon turbine orchard falcon granite lantern meadow")
	for i := range 60 {
		a, b := nouns[i%len(nouns)], nouns[(i*7+3)%len(nouns)]
		m.note(fmt.Sprintf("note%02d.md", i), fmt.Sprintf("# The %s %d\n\nThe %s of room %d listens on port %d.\n\n## More\n\nAsk the %s before noon %s.\n", a, i, a, i, 4000+i, b, strings.Repeat("and wait ", i%9)))
	}
	m.log(12)
	opened := m.open()
	defer opened.Close()
	_, err := opened.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	for i := range 6 {
		m.note(fmt.Sprintf("note%02d.md", i), fmt.Sprintf("# Changed %d\n\nThe falcon of room %d now listens on port %d.\n", i, i, 7000+i))
	}
	require.NoError(t, os.Remove(filepath.Join(m.notes, "note59.md")))
	m.log(16)
	_, err = opened.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	return m
}

func (m memory) log(lines int) {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, `{"type":"user","sessionId":"s","timestamp":"2026-01-01T10:00:%02dZ","message":{"role":"user","content":"turn %d: the lantern of deck %d is amber"}}`+"\n", i, i, i)
	}
	m.note("chat.jsonl", b.String())
}

var queries = []string{"which port does the falcon of room 3 listen on", "amber lantern of deck 11", "port 4042", "ask the orchard before noon"}

// An answer is the result of a question; said is not empty if it admits to be incomplete.
type answer struct{ name, text, said string }

// ask calls everything that reads.
func ask(ctx context.Context, m *core.Manager) []answer {
	var all []answer
	of := func(name string, result core.Result, err error) {
		var b strings.Builder
		for _, hit := range result.Hits {
			fmt.Fprintf(&b, "%s %.6f %s %q %q\n", paths.Citation(hit.Path, hit.StartLine, hit.EndLine), hit.Score, hit.ID, hit.Headings, hit.Text)
		}
		said := strings.Join(result.Degraded, "; ")
		if err != nil {
			said = err.Error()
		} else if result.State != core.StateReady {
			said = string(result.State)
		}
		all = append(all, answer{name, b.String(), said})
	}
	for _, query := range queries {
		result, err := m.RetrieveRelevant(ctx, query, core.RetrieveOptions{})
		of("retrieve "+query, result, err)
		result, err = m.Search(ctx, query, core.SearchOptions{Limit: 20})
		of("search "+query, result, err)
	}
	stats, err := m.Statistics(ctx, time.Now())
	said := ""
	if err != nil {
		said = err.Error()
	}
	all = append(all, answer{"stats", fmt.Sprint(stats.Documents, stats.Chunks, stats.Duplicates), said})
	status, err := m.Status(ctx)
	if err != nil {
		status.Problems = append(status.Problems, err.Error())
	}
	if status.State != core.StateReady {
		status.Problems = append(status.Problems, string(status.State))
	}
	return append(all, answer{"status", fmt.Sprint(status.Chunks, status.Embedded, status.Documents), strings.Join(status.Problems, "; ")})
}

// After any damage to a file of the index or the cache, answers are as before or admit to be
// incomplete, nothing crashes, and the next indexing repairs everything. Every second time the
// memory is open during the damage.
func TestDamagedIndex(t *testing.T) {
	m := newMemory(t)
	opened := m.open()
	want := ask(t.Context(), opened)
	require.NoError(t, opened.Check(t.Context()))
	require.NoError(t, opened.Close())
	for _, a := range want {
		require.Empty(t, a.said, a.name)
		if strings.HasPrefix(a.name, "search") {
			require.NotEmpty(t, a.text, a.name)
		}
	}
	index, cached := treeOf(t, m.index), treeOf(t, m.cache)
	random := rand.New(rand.NewPCG(7, 7))
	n := harness.Times(150, 6000)
	said, harmless, classes := 0, 0, map[string]int{}
	for i := range n {
		if t.Failed() {
			t.Logf("after %d of %d", i, n)
			break
		}
		index.restore(t, m.index)
		cached.restore(t, m.cache)
		var before *core.Manager
		if i%2 == 1 {
			before = m.open()
			ask(t.Context(), before)
		}
		root := m.index
		if i%10 == 9 {
			root = m.cache
		}
		w := hurt(t, random, root, filesIn(t, root))
		classes[classOf(w.file)]++
		opened := before
		if opened == nil {
			opened = m.open()
		}
		reported := false
		for j, got := range ask(t.Context(), opened) {
			if got.said == "" && got.text != want[j].text {
				t.Errorf("%d: %v, open before: %v: %s\nis, and says nothing:\n%s\nwant\n%s", i, w, before != nil, got.name, got.text, want[j].text)
			}
			reported = reported || got.said != ""
		}
		if err := opened.Check(t.Context()); err != nil {
			reported = true
		}
		report, err := opened.Index(t.Context(), core.IndexOptions{})
		if err != nil {
			t.Errorf("%d: %v, open before: %v: Index: %v", i, w, before != nil, err)
		} else if report.Pending > 0 || report.Degraded != "" {
			t.Errorf("%d: %v: Index: %+v, want all indexed", i, w, report)
		}
		if reported {
			said++
		} else {
			harmless++
		}
		for _, m := range []*core.Manager{opened, m.open()} {
			for j, got := range ask(t.Context(), m) {
				if got.text != want[j].text || got.said != "" {
					t.Errorf("%d: %v, open before: %v, after mending: %s\nsays %q and is\n%s\nwant\n%s", i, w, before != nil, got.name, got.said, got.text, want[j].text)
				}
			}
			if err := m.Check(t.Context()); err != nil {
				t.Errorf("%d: %v, after mending: Check: %v", i, w, err)
			}
			require.NoError(t, m.Close())
		}
	}
	t.Logf("by file: %v", classes)
	t.Logf("index and embedding cache: %d damages: %d reported, %d harmless; all repaired by the next indexing", n, said, harmless)
}
