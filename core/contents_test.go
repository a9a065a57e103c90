package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// manyKinds writes notes, rules, logs of agents and a chat.
func manyKinds(t *testing.T) *memory {
	m := newMemory(t)
	require.NoError(t, os.CopyFS(m.notes, os.DirFS("../testdata/workspace")))
	for _, some := range []map[string]string{exchanges(), failingLogs(), {
		"AGENTS.md":                "# Rules\n\n- In *.go files wrap errors with %w.\n- Answer in short sentences.\n",
		"sessions/mill.jsonl":      agentLog(millLog...),
		"sessions/mill-copy.jsonl": agentLog(millLog...),
		"memories/user.md":         "# About the user\n\nThe user is Zhang San and prefers tea.\n",
		"daily/2026-03-04.md":      "# Monday\n\nThe auditors want the list of ferries by Friday.\n",
		"keys.md":                  "# Keys\n\nThe key is AKIA" + "QYLPMN5HHHFPZAM2 of the archive.\n",
		"chat.json":                `[{"role": "user", "content": "Where is the kiln of the pottery?"}, {"role": "assistant", "content": "The kiln of the pottery stands behind the orchard."}]`,
		"notes/dated.md":           "---\ndate: 2026-02-01\nglobs: x\n---\n# Harbour\n\nThe harbour is closed.\n",
	}} {
		for name, text := range some {
			m.write(name, text)
		}
	}
	return m
}

// cuts are what a Cutter makes of the documents of a memory.
type cuts struct {
	indexed map[string]core.Indexed
	digests map[string][]byte
	records map[string][]store.Record
}

// cut reads and cuts each document from its bytes.
func (m *memory) cut() cuts {
	t := m.t
	cutter, err := core.NewCutter(core.CutterOptions{Embedder: m.embedder, Chunking: m.options.Chunking})
	require.NoError(t, err)
	listing, err := m.options.Sources[0].List(t.Context())
	require.NoError(t, err)
	all := cuts{map[string]core.Indexed{}, map[string][]byte{}, map[string][]store.Record{}}
	for _, listed := range listing.Documents {
		text, err := os.ReadFile(listed.File)
		require.NoError(t, err)
		doc, content, err := source.Parse(t.Context(), source.Document{Path: listed.Path, Scope: listed.Scope, ModTime: listed.ModTime}, text)
		require.NoError(t, err)
		cut, err := cutter.Cut(doc, content)
		require.NoError(t, err)
		require.Equal(t, strings.HasSuffix(doc.Path, "keys.md"), len(cut.Redacted) > 0, doc.Path)
		put, gone := cut.Replace(nil)
		require.Len(t, put, len(cut.Records))
		require.Empty(t, gone)
		kept, err := json.Marshal(cut.Document)
		require.NoError(t, err)
		var read core.Indexed
		require.NoError(t, json.Unmarshal(kept, &read))
		all.indexed[doc.Path], all.records[doc.Path] = read.WithPending(0), cut.Records
		if cut.Digest != nil {
			all.digests[doc.Path] = cut.Digest
		}
	}
	return all
}

// elsewhere opens a memory over contents that are the indexes of a folder with the documents of a
// Cutter, in some layers.
func (m *memory) elsewhere(made cuts, layers int, change func(*core.Contents)) (opened *core.Manager, held *atomic.Int64) {
	t := m.t
	words, err := m.options.Engine.Keywords(t.Context(), filepath.Join(m.options.Folder, "1", "keywords"))
	require.NoError(t, err)
	vectors, err := m.options.Engine.Vectors(t.Context(), filepath.Join(m.options.Folder, "1", "vectors"), hashDimension)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, words.Close()); require.NoError(t, vectors.Close()) })
	parts, n := make([]map[string]core.Indexed, layers), 0
	for i := range parts {
		parts[i] = map[string]core.Indexed{}
	}
	for path, d := range made.indexed {
		parts[n%layers][path], n = d, n+1
	}
	scale, err := core.MeasureScale(t.Context(), m.embedder)
	require.NoError(t, err)
	held = &atomic.Int64{}
	c := core.Contents{
		Keywords: words, Vectors: vectors, Embedder: m.embedder.Fingerprint(), Scale: scale, Updated: time.Now(),
		Digests: func(_ context.Context, paths []string) (map[string][]byte, error) {
			found := map[string][]byte{}
			for _, path := range paths {
				found[path] = made.digests[path]
			}
			return found, nil
		},
		Release: func() { held.Add(-1) },
	}
	for _, part := range parts {
		c.Layers = append(c.Layers, core.NewLayer(part))
	}
	if change != nil {
		change(&c)
	}
	o := core.Options{Embedder: m.embedder, Chunking: m.options.Chunking, Logger: m.options.Logger,
		Contents: func(context.Context) (core.Contents, error) { held.Add(1); return c, nil }}
	opened, err = core.Open(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return opened, held
}

// inBulk reads many documents at once, and none alone in a search of all.
type inBulk struct{ store.KeywordIndex }

func (b inBulk) Documents(ctx context.Context, paths []string) (map[string][]store.Record, error) {
	all := map[string][]store.Record{}
	for _, path := range paths {
		records, err := b.Document(ctx, path)
		if err != nil {
			return nil, err
		}
		all[path] = records
	}
	return all, nil
}

func (b inBulk) LanguageOf(text string) string {
	return b.KeywordIndex.(interface{ LanguageOf(string) string }).LanguageOf(text)
}

func (b inBulk) Languages(ctx context.Context) (map[string]int, error) {
	return b.KeywordIndex.(interface {
		Languages(context.Context) (map[string]int, error)
	}).Languages(ctx)
}

// asked are questions and prompts of all kinds.
func asked(t *testing.T) []string {
	text, err := os.ReadFile("../testdata/eval/workspace.yaml")
	require.NoError(t, err)
	all := []string{
		"upgrade the packages we depend on, and look at the login page", "go test ./... fails with go.mod file not found", "what failed?", "who am I",
		"what did the auditors want on 4 March 2026?", "what was in May 2026?", "commit this, please", "fix errors.go: wrap the errors", "push",
		"why does the door of the mill stick", "oil the hinges of the door of the mill", "where is the kiln", "is the harbour open?", "restart nginx now", "getCacheStats", "what do I prefer to drink?", "the mail worker retries, make it two times", "ok",
	}
	for line := range strings.Lines(string(text)) {
		if _, query, found := strings.Cut(strings.TrimSpace(line), "query: "); found {
			all = append(all, query)
		}
	}
	require.Greater(t, len(all), 50)
	return all
}

func resultOf(t *testing.T, r core.Result, err error) string {
	require.NoError(t, err)
	r.Took = nil
	text, err := json.MarshalIndent(r, "", " ")
	require.NoError(t, err)
	return string(text)
}

// Whoever keeps what a Cutter makes gets the answers that a folder's index gives.
func TestContentsAnswerAsAFolderDoes(t *testing.T) {
	m := manyKinds(t)
	folder := m.open()
	index(t, folder)
	made := m.cut()
	ctx, now := t.Context(), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	said := 0
	for path, records := range made.records {
		indexed := recordsIn(t, filepath.Join(m.options.Folder, "1", "keywords"), path)
		for i, r := range records { // as an index keeps it
			records[i].Time = r.Time.UTC().Truncate(time.Second)
		}
		require.ElementsMatch(t, indexed, records, path)
	}
	for _, layers := range []int{1, 3} {
		t.Run(fmt.Sprint(layers, " layers"), func(t *testing.T) {
			elsewhere, held := m.elsewhere(made, layers, func(c *core.Contents) {
				if layers > 1 {
					c.Keywords = inBulk{c.Keywords.(store.KeywordIndex)}
				}
			})
			both := func(do func(*core.Manager) (any, error)) {
				t.Helper()
				var answers []string
				for _, one := range []*core.Manager{folder, elsewhere} {
					answer, err := do(one)
					text, _ := json.Marshal(answer)
					answers = append(answers, fmt.Sprint(string(text), err))
				}
				require.Equal(t, answers[0], answers[1])
			}
			for _, text := range asked(t) {
				for _, o := range []core.RetrieveOptions{{}, {Lines: core.MaxLines, Explain: true}, {Scope: core.ScopeProject, Kind: source.KindMarkdown, Not: []string{"notes/notes/"}}} {
					o.Now = now
					want, err := folder.RetrieveRelevant(ctx, text, o)
					first := resultOf(t, want, err)
					said += len(want.Said) + len(want.Lines)
					got, err := elsewhere.RetrieveRelevant(ctx, text, o)
					require.Equal(t, first, resultOf(t, got, err), text)
					for _, l := range want.Lines {
						both(func(m *core.Manager) (any, error) { return m.Read(ctx, l.Name) })
					}
				}
				for _, o := range []core.SearchOptions{{}, {Sessions: true, Explain: true}, {Exact: true}, {Stated: true}, {Kind: core.KindStatement}} {
					o.Now = now
					want, err := folder.Search(ctx, text, o)
					first := resultOf(t, want, err)
					got, err := elsewhere.Search(ctx, text, o)
					require.Equal(t, first, resultOf(t, got, err), text)
				}
			}
			for path := range made.indexed {
				both(func(m *core.Manager) (any, error) { return m.Exchanges(ctx, path) })
				both(func(m *core.Manager) (any, error) { return m.Chunks(ctx, path) })
				both(func(m *core.Manager) (any, error) { return m.Read(ctx, path+"#L1-L9") })
			}
			both(func(m *core.Manager) (any, error) { return m.Said(ctx) })
			both(func(m *core.Manager) (any, error) { return m.Standing(ctx, 9, 900) })
			both(func(m *core.Manager) (any, error) { return m.Failing(ctx, 9) })
			both(func(m *core.Manager) (any, error) { return m.Languages(ctx) })
			both(func(m *core.Manager) (any, error) { return m.Read(ctx, "aaaaa-1") })
			both(func(m *core.Manager) (any, error) {
				all, n, err := m.Documents(ctx, core.DocumentsOptions{Find: "notes", Limit: 999})
				for i := range all {
					all[i].Source = "" // of a folder only
				}
				return append([]core.DocumentInfo{{Chunks: n}}, all...), err
			})
			both(func(m *core.Manager) (any, error) {
				sums, err := m.Sums(ctx)
				sums.Sources = nil
				return sums, err
			})
			require.Zero(t, held.Load(), "contents that were not released")
		})
	}
	require.Greater(t, said, 20, "statements and lines that were compared")
}

func TestReplaceKeepsTheTimeOfUnchangedPassages(t *testing.T) {
	cutter, err := core.NewCutter(core.CutterOptions{})
	require.NoError(t, err)
	long := strings.Repeat("The tea of the harbour is green and costs three coins at the market. ", 30)
	cut := func(text string, at time.Time) core.Cut {
		doc, content, err := source.Parse(t.Context(), source.Document{Path: "a.md", Scope: source.ScopeProject, ModTime: at}, []byte(text))
		require.NoError(t, err)
		cut, err := cutter.Cut(doc, content)
		require.NoError(t, err)
		return cut
	}
	early, late := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	before := cut("# A\n\n"+long+"\n\n## B\n\nThe kiln is cold.\n\n## C\n\nThe gate is shut.\n", early)
	after := cut("# A\n\n"+long+"\n\n## B\n\nThe kiln is hot.\n", late)
	put, gone := after.Replace(before.Records)
	require.Len(t, put, 1)
	require.Contains(t, put[0].Text, "hot")
	require.True(t, put[0].Time.Equal(late))
	require.Len(t, gone, 2)
	for _, r := range after.Records {
		require.Equal(t, !strings.Contains(r.Text, "hot"), r.Time.Equal(early), r.Text)
	}
}

func TestContentsOfAnotherEmbedder(t *testing.T) {
	m := newMemory(t)
	index(t, m.open())
	other, _ := m.elsewhere(m.cut(), 1, func(c *core.Contents) { c.Embedder = "hash/b" })
	result := search(t, other, "staging postgres port")
	require.Equal(t, "notes/staging.md#L1-L5", first(result), "words answer")
	require.Contains(t, strings.Join(result.Degraded, "\n"), "made by hash/b")

	none, _ := m.elsewhere(m.cut(), 1, func(c *core.Contents) { c.Vectors = nil })
	result = search(t, none, "staging postgres port")
	require.Equal(t, "notes/staging.md#L1-L5", first(result))
	require.Empty(t, result.Degraded)

	made := m.cut()
	made.indexed["notes/team.md"] = made.indexed["notes/team.md"].WithPending(1)
	late, _ := m.elsewhere(made, 1, nil)
	require.Equal(t, &core.Unembedded{Chunks: 4, Pending: 1}, search(t, late, "staging postgres port").Unembedded)
}

// A digest that is lost costs what it tells, and no question.
func TestContentsWithoutDigests(t *testing.T) {
	m := manyKinds(t)
	index(t, m.open())
	for name, digests := range map[string]func(context.Context, []string) (map[string][]byte, error){
		"none":      func(context.Context, []string) (map[string][]byte, error) { return nil, nil },
		"a failure": func(context.Context, []string) (map[string][]byte, error) { return nil, os.ErrDeadlineExceeded },
	} {
		t.Run(name, func(t *testing.T) {
			opened, _ := m.elsewhere(m.cut(), 2, func(c *core.Contents) { c.Digests = digests })
			for _, prompt := range []string{"why does the door of the mill stick", "upgrade the packages we depend on, and look at the login page"} {
				result, err := opened.RetrieveRelevant(t.Context(), prompt, core.RetrieveOptions{Lines: 8})
				require.NoError(t, err)
				require.NotEmpty(t, result.Hits, prompt)
			}
		})
	}
}

func TestElsewhereNothingIsChanged(t *testing.T) {
	m := newMemory(t)
	index(t, m.open())
	opened, held := m.elsewhere(m.cut(), 1, nil)
	ctx := t.Context()
	_, err := opened.Index(ctx, core.IndexOptions{})
	require.ErrorIs(t, err, core.ErrElsewhere)
	require.ErrorIs(t, opened.Watch(ctx, core.WatchOptions{}), core.ErrElsewhere)
	require.ErrorIs(t, opened.Check(ctx), core.ErrElsewhere)
	_, err = opened.Forget(ctx, "notes/team.md")
	require.ErrorIs(t, err, core.ErrElsewhere)
	_, err = opened.Says(ctx, "notes/team.md", 1, 3)
	require.ErrorIs(t, err, core.ErrElsewhere)
	status, err := opened.Status(ctx)
	require.NoError(t, err)
	require.Empty(t, status.Problems)
	require.Equal(t, 4, status.Embedded)
	require.Nil(t, status.Stale)
	require.Zero(t, held.Load())
	require.NoError(t, opened.Close())
	_, err = opened.Search(ctx, "tea", core.SearchOptions{})
	require.ErrorIs(t, err, core.ErrClosed)

	failing, err := core.Open(ctx, core.Options{Contents: func(context.Context) (core.Contents, error) { return core.Contents{}, os.ErrDeadlineExceeded }})
	require.NoError(t, err)
	result, err := failing.Search(ctx, "tea", core.SearchOptions{})
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Empty(t, result.Hits)
	require.NoError(t, failing.Close())
}
