package core_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
)

// hashEmbedder makes vectors of words: texts with common words are similar.
type hashEmbedder struct {
	name  string
	texts atomic.Int64 // documents embedded so far
	fail  atomic.Pointer[error]
	wait  time.Duration

	failDocuments atomic.Pointer[error]
}

func (h *hashEmbedder) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if err := h.fail.Load(); err != nil {
		return nil, *err
	}
	if err := h.failDocuments.Load(); err != nil && kind == embed.Document {
		return nil, *err
	}
	select {
	case <-time.After(h.wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = hashVector(text)
	}
	if kind == embed.Document && !measures(texts) {
		h.texts.Add(int64(len(texts)))
	}
	return vectors, nil
}

// measures reports whether texts are the anchors of a Scale.
func measures(texts []string) bool {
	_, anchors := relevance.Anchors()
	return len(texts) > 0 && texts[0] == anchors[0]
}

const hashDimension = 384

func hashVector(text string) []float32 {
	v := make([]float32, hashDimension)
	v[0] = 0.1
	for _, word := range strings.Fields(strings.ToLower(text)) {
		sum := fnv.New32a()
		sum.Write([]byte(strings.Trim(word, ".,:?")))
		v[sum.Sum32()%hashDimension]++
	}
	norm := 0.0
	for _, x := range v {
		norm += float64(x * x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(norm))
	}
	return v
}

func (h *hashEmbedder) Dimension() int              { return hashDimension }
func (h *hashEmbedder) Fingerprint() string         { return "hash/" + h.name }
func (h *hashEmbedder) MaxTokens() int              { return 200 }
func (h *hashEmbedder) CountTokens(text string) int { return len(strings.Fields(text)) }

// A memory is a folder of notes and its index.
type memory struct {
	t        *testing.T
	notes    string
	options  core.Options
	embedder *hashEmbedder
}

func newMemory(t *testing.T) *memory {
	m := &memory{t: t}
	m.options, m.notes = optionsFor(t)
	m.embedder = m.options.Embedder.(*hashEmbedder)
	m.write("staging.md", "# Staging\n\n## Database\n\nThe staging postgres listens on port 5433.\n\n## Cache\n\nRedis of staging listens on 6390.\n")
	m.write("deploy.md", "# Deploy\n\nRun the migration before the rollout.\n\nYou must restart nginx after this change.\n")
	m.write("team.md", "# Team\n\nAda is on call in odd weeks, Grace in even weeks.\n")
	return m
}

// optionsFor returns options for a temporary folder with notes.
func optionsFor(t testing.TB) (options core.Options, notes string) {
	dir := t.TempDir()
	notes = filepath.Join(dir, "notes")
	require.NoError(t, os.Mkdir(notes, 0o755))
	return core.Options{
		Folder:    filepath.Join(dir, "index"),
		Sources:   []source.Source{source.NewFolder(source.FolderOptions{Path: notes, Workspace: dir})},
		Engine:    engineNamed(defaultEngine),
		Embedder:  &hashEmbedder{name: "a"},
		Freshness: -1,
		Logger:    slog.New(slog.DiscardHandler),
	}, notes
}

// write writes a note that looks a while old.
func (m *memory) write(name, text string) {
	path := filepath.Join(m.notes, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(m.t, os.WriteFile(path, []byte(text), 0o644))
	past := time.Now().Add(-time.Hour + time.Duration(len(text))*time.Second)
	require.NoError(m.t, os.Chtimes(path, past, past))
}

func (m *memory) open() *core.Manager {
	opened, err := core.Open(m.t.Context(), m.options)
	require.NoError(m.t, err)
	m.t.Cleanup(func() {
		if err := opened.Check(context.Background()); err != nil && !errors.Is(err, core.ErrClosed) {
			m.t.Errorf("Check at the end: %v", err)
		}
		require.NoError(m.t, opened.Close())
	})
	return opened
}

func index(t *testing.T, m *core.Manager) core.IndexReport {
	t.Helper()
	report, err := m.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	return report
}

func search(t *testing.T, m *core.Manager, query string) core.Result {
	t.Helper()
	result, err := m.Search(t.Context(), query, core.SearchOptions{})
	require.NoError(t, err)
	return result
}

func first(r core.Result) string {
	if len(r.Hits) == 0 {
		return ""
	}
	return r.Hits[0].Source
}

func TestSearchFindsAndCites(t *testing.T) {
	m := newMemory(t).open()
	index(t, m)
	for _, tt := range []struct{ query, want string }{
		{"which port does staging postgres use", "notes/staging.md#L1-L5"},
		{"who is on call", "notes/team.md#L1-L3"},
		{"restart nginx", "notes/deploy.md#L1-L5"},
	} {
		result := search(t, m, tt.query)
		if got := first(result); got != tt.want || result.State != core.StateReady || len(result.Degraded) > 0 {
			t.Errorf("Search(%q) = %s first, state %s, degraded %v, want %s, ready", tt.query, got, result.State, result.Degraded, tt.want)
		}
	}
}

func TestUnindexedIsNotUnknown(t *testing.T) {
	m := newMemory(t).open()
	if got := search(t, m, "postgres").State; got != core.StateMissing {
		t.Errorf("state before the first Index is %q, want %q", got, core.StateMissing)
	}
	index(t, m)
	if got := search(t, m, "zeppelin"); got.State != core.StateReady {
		t.Errorf("state after Index is %q, want %q", got.State, core.StateReady)
	}
}

func TestIndexDoesOnlyWhatChanged(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	firstRun := index(t, m)
	require.Equal(t, 3, firstRun.Added)
	require.Equal(t, firstRun.Chunks, firstRun.Embedded)

	again := index(t, m)
	if again.Unchanged != 3 || again.Written != 0 || again.Embedded != 0 {
		t.Errorf("second run: %+v, want 3 unchanged and nothing written", again)
	}

	embedded := mem.embedder.texts.Load()
	mem.write("staging.md", "# Staging\n\n## Database\n\nThe staging postgres listens on port 5433.\n\n## Cache\n\nRedis of staging listens on 7000, since May.\n")
	changed := index(t, m)
	if changed.Changed != 1 || changed.Written != 1 || changed.Deleted != 1 || mem.embedder.texts.Load() != embedded+1 {
		t.Errorf("one section changed: %+v, %d texts embedded, want one chunk written, deleted, embedded", changed, mem.embedder.texts.Load()-embedded)
	}
	if got := search(t, m, "redis staging 7000"); first(got) != "notes/staging.md#L7-L9" {
		t.Errorf("the new text is not found first: %s", first(got))
	}

	require.NoError(t, os.Remove(filepath.Join(mem.notes, "staging.md")))
	removed := index(t, m)
	if removed.Removed != 1 || removed.Documents != 2 {
		t.Errorf("a file was deleted: %+v, want 1 removed, 2 documents", removed)
	}
	for _, hit := range search(t, m, "staging postgres port").Hits {
		if hit.Path == "notes/staging.md" {
			t.Errorf("a deleted document is found: %+v", hit)
		}
	}
}

func TestTouchedFileIsNotChanged(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	index(t, m)
	path := filepath.Join(mem.notes, "team.md")
	require.NoError(t, os.Chtimes(path, time.Now().Add(-time.Minute), time.Now().Add(-time.Minute)))
	if got := index(t, m); got.Unchanged != 3 || got.Written != 0 {
		t.Errorf("Index after touch: %+v, want 3 unchanged", got)
	}
}

func TestKeywordsAnswerWhileTheEmbedderIsAway(t *testing.T) {
	mem := newMemory(t)
	away := fmt.Errorf("connection refused: %w", embed.ErrUnavailable)
	mem.embedder.fail.Store(&away)
	m := mem.open()
	report := index(t, m)
	if report.Degraded == "" || report.Pending != report.Chunks {
		t.Errorf("Index without embedder: %+v, want degraded, all chunks pending", report)
	}
	result := search(t, m, "staging postgres port")
	if first(result) != "notes/staging.md#L1-L5" || len(result.Degraded) == 0 {
		t.Errorf("Search without embedder = %s first, degraded %q", first(result), result.Degraded)
	}

	mem.embedder.fail.Store(nil)
	if report := index(t, m); report.Pending != 0 || report.Embedded != report.Chunks || report.Written != 0 {
		t.Errorf("Index when it is back: %+v, want all embedded, nothing written", report)
	}
	mem.embedder.fail.Store(&away)
	if result := search(t, m, "staging postgres port"); first(result) == "" || len(result.Degraded) != 1 {
		t.Errorf("Search when it is away again = %s first, degraded %q, want one reason", first(result), result.Degraded)
	}
}

func TestAnAbsentEmbedderReplacesNoVectors(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	index(t, m)
	require.NoError(t, m.Close())
	working := mem.options.Embedder
	mem.options.Embedder = absent{working}
	other := mem.open()
	_, err := other.Index(t.Context(), core.IndexOptions{})
	require.ErrorIs(t, err, embed.ErrUnavailable)
	require.ErrorContains(t, err, "stays: start the model, or index with --rebuild")
	require.NoError(t, other.Close())

	mem.options.Embedder = working
	m = mem.open()
	if report := index(t, m); report.Rebuilt != "" || report.Pending != 0 {
		t.Errorf("Index with the embedder of before: %+v, want nothing to do", report)
	}
	require.NoError(t, m.Close())

	mem.options.Embedder = absent{working}
	other = mem.open()
	report, err := other.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	require.Equal(t, report.Chunks, report.Pending, "asked for")
}

// An absent embedder is another one, and does not answer.
type absent struct{ embed.Embedder }

func (absent) Fingerprint() string { return "absent" }

func (absent) Embed(context.Context, embed.Kind, []string) ([][]float32, error) {
	return nil, embed.ErrUnavailable
}

func TestSlowEmbedderDoesNotHoldAQuery(t *testing.T) {
	mem := newMemory(t)
	mem.options.EmbedTimeout = 20 * time.Millisecond
	m := mem.open()
	index(t, m)
	mem.embedder.wait = time.Minute
	result := search(t, m, "staging postgres port")
	if first(result) != "notes/staging.md#L1-L5" || len(result.Degraded) != 1 || !strings.Contains(result.Degraded[0], "20ms") {
		t.Errorf("Search = %s first, degraded %q, want the note and the time limit", first(result), result.Degraded)
	}
}

// A search waits longer for its embedding than a turn.
func TestTimeForTheEmbedder(t *testing.T) {
	mem := newMemory(t)
	e := &deadlineEmbedder{hashEmbedder: &hashEmbedder{name: "a"}}
	mem.options.Embedder, mem.options.Injection = e, core.InjectionOff
	m := mem.open()
	index(t, m)
	began := time.Now()
	_, err := m.RetrieveRelevant(t.Context(), "which port does staging use?", core.RetrieveOptions{})
	require.NoError(t, err)
	require.WithinRange(t, e.query, began, time.Now().Add(2*time.Second))
	began = time.Now()
	search(t, m, "staging port")
	require.WithinRange(t, e.query, began.Add(10*time.Second), time.Now().Add(10*time.Second))
}

// A deadlineEmbedder keeps the deadline of the last query.
type deadlineEmbedder struct {
	*hashEmbedder
	query time.Time
}

func (e *deadlineEmbedder) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if kind == embed.Query {
		e.query, _ = ctx.Deadline()
	}
	return e.hashEmbedder.Embed(ctx, kind, texts)
}

func TestAnotherEmbedderMeansARebuildSaidAloud(t *testing.T) {
	mem := newMemory(t)
	old, err := core.Open(t.Context(), mem.options)
	require.NoError(t, err)
	index(t, old)
	require.NoError(t, old.Close())
	mem.options.Embedder = &hashEmbedder{name: "b"}
	m := mem.open()
	if result := search(t, m, "staging postgres port"); first(result) == "" || len(result.Degraded) == 0 {
		t.Errorf("before the rebuild: %s first, degraded %q, want an answer by keywords", first(result), result.Degraded)
	}
	if report := index(t, m); report.Rebuilt == "" || report.Pending != 0 {
		t.Errorf("Index with another embedder: %+v, want it rebuilt", report)
	}
	if result := search(t, m, "staging postgres port"); len(result.Degraded) > 0 {
		t.Errorf("after the rebuild: degraded %q", result.Degraded)
	}
}

// A missing embedder is named, since indexing again does not bring it back.
func TestMissingEmbedder(t *testing.T) {
	for _, has := range []bool{false, true} {
		mem := newMemory(t)
		index(t, mem.open())
		former := mem.embedder
		mem.options.Former = func(string) embed.Embedder {
			if has {
				return former
			}
			return nil
		}
		mem.options.Embedder = missingEmbedder{&hashEmbedder{name: "b"}}
		m, err := core.Open(t.Context(), mem.options)
		require.NoError(t, err)
		status, err := m.Status(t.Context())
		require.NoError(t, err)
		problems := strings.Join(status.Problems, "\n")
		require.Contains(t, problems, "the model is not installed")
		require.NotContains(t, problems, "index")
		require.Equal(t, has, strings.Contains(problems, "until then vectors of hash/a answer"), problems)
		degraded := strings.Join(search(t, m, "staging postgres port").Degraded, "\n")
		require.Equal(t, !has, strings.Contains(degraded, "the model is not installed"), degraded)
		require.NoError(t, m.Close())
	}
}

// missingEmbedder is behind a decorator.
type missingEmbedder struct{ *hashEmbedder }

func (m missingEmbedder) Unwrap() embed.Embedder { return unfetched{m.hashEmbedder} }

type unfetched struct{ embed.Embedder }

func (unfetched) Missing() error { return errors.New("the model is not installed") }

// With the former embedder at hand its vectors answer until Index has made others.
func TestFormerEmbedderAnswers(t *testing.T) {
	mem := newMemory(t)
	old, err := core.Open(t.Context(), mem.options)
	require.NoError(t, err)
	index(t, old)
	require.NoError(t, old.Close())
	former := mem.embedder
	mem.options.Embedder, mem.options.Freshness = &hashEmbedder{name: "b"}, 0
	mem.options.Former = func(fingerprint string) embed.Embedder {
		if fingerprint == former.Fingerprint() {
			return former
		}
		return nil
	}
	mem.write("later.md", "# Later\n\nThe staging postgres moves on Friday.\n")
	m := mem.open()
	result := search(t, m, "staging postgres port")
	require.Equal(t, "notes/staging.md#L1-L5", first(result))
	require.Empty(t, result.Degraded)
	require.Contains(t, result.Stale.Reason, "index again")
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Contains(t, strings.Join(status.Problems, "\n"), "vectors were made by hash/a, the embedder is now hash/b: they answer until")
	report := index(t, m)
	require.Contains(t, report.Rebuilt, "now by hash/b")
	require.Equal(t, "notes/later.md#L1-L3", first(search(t, m, "what is on Friday")))
	status, err = m.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, "hash/b", status.Embedder)
	require.Empty(t, status.Problems)
}

func TestDamageIsSaidAndMended(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, index string){
		"manifest cut": func(t *testing.T, index string) {
			require.NoError(t, os.Truncate(filepath.Join(index, "1", "manifest.json"), 10))
		},
		"manifest of an earlier release": func(t *testing.T, index string) {
			require.NoError(t, os.WriteFile(filepath.Join(index, "1", "manifest.json"), []byte(`{"format":1,"complete":true}`), 0o600))
		},
		"one bit of the manifest": func(t *testing.T, index string) {
			file := filepath.Join(index, "1", "manifest.json")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			changed := strings.Replace(string(text), "chunks\":2", "chunks\":3", 1)
			require.NotEqual(t, string(text), changed)
			require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
		},
		"keywords gone": func(t *testing.T, index string) {
			breakFiles(t, filepath.Join(index, "1", "keywords"))
		},
		"vectors broken": func(t *testing.T, index string) {
			breakFiles(t, filepath.Join(index, "1", "vectors"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem := newMemory(t)
			m, err := core.Open(t.Context(), mem.options)
			require.NoError(t, err)
			index(t, m)
			require.NoError(t, m.Close())
			damage(t, mem.options.Folder)

			m = mem.open()
			result, err := m.RetrieveRelevant(t.Context(), "staging postgres port", core.RetrieveOptions{MinSimilarity: -1})
			if result.State == core.StateReady && len(result.Degraded) == 0 {
				t.Errorf("damage is not said: %+v, %v", result, err)
			}
			if report := index(t, m); report.Rebuilt == "" {
				t.Errorf("Index of a damaged index: %+v, want it rebuilt", report)
			}
			if result := search(t, m, "staging postgres port"); first(result) != "notes/staging.md#L1-L5" || len(result.Degraded) > 0 {
				t.Errorf("after mending: %s first, degraded %q", first(result), result.Degraded)
			}
		})
	}
}

// breakFiles overwrites the head of every file below dir.
func breakFiles(t *testing.T, dir string) {
	broken := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "CURRENT" {
			return err
		}
		broken++
		return os.WriteFile(path, []byte("this is not an index"), 0o600)
	}))
	require.NotZero(t, broken)
}

func TestWhatChangedIsFoldedInBeforeAnswering(t *testing.T) {
	mem := newMemory(t)
	mem.options.Freshness = time.Minute
	m := mem.open()
	index(t, m)
	mem.write("new/zeppelin.md", "# Zeppelin\n\nThe zeppelin lands at noon.\n")
	result := search(t, m, "zeppelin lands")
	if first(result) != "notes/new/zeppelin.md#L1-L3" || result.Stale != nil || len(result.Degraded) > 0 {
		t.Errorf("a new file: %s first, stale %v, degraded %v, want it found", first(result), result.Stale, result.Degraded)
	}
	require.NoError(t, os.Remove(filepath.Join(mem.notes, "new/zeppelin.md")))
	for _, hit := range search(t, m, "zeppelin lands").Hits {
		if strings.Contains(hit.Path, "zeppelin") {
			t.Errorf("a deleted file is found: %+v", hit)
		}
	}
}

func TestWhatCannotBeFoldedInIsSaid(t *testing.T) {
	mem := newMemory(t)
	mem.options.Freshness = time.Nanosecond
	m := mem.open()
	index(t, m)
	for i := range 5 {
		mem.write(fmt.Sprintf("more/%d.md", i), fmt.Sprintf("# Note %d\n\nText %d.\n", i, i))
	}
	if result := search(t, m, "note text"); result.Stale == nil || result.Stale.Files != 4 {
		t.Errorf("stale = %+v, want 4 files: one is folded in whatever the time", result.Stale)
	}
}

// A fleeting source loses a file between listing and reading.
type fleeting struct {
	source.Source
	file string
}

func (f fleeting) Read(ctx context.Context, d source.Document, from source.Position) (source.Content, error) {
	if d.File == f.file {
		_ = os.Remove(f.file)
	}
	return f.Source.Read(ctx, d, from)
}

// A file that disappears during indexing is no error.
func TestFileGoesWhileItIsIndexed(t *testing.T) {
	mem := newMemory(t)
	mem.options.Sources[0] = fleeting{mem.options.Sources[0], filepath.Join(mem.notes, "team.md")}
	report := index(t, mem.open())
	require.Zero(t, report.Unreadable)
	require.Empty(t, report.Skipped)
	require.Equal(t, 2, report.Documents)
}

func TestAnotherManagerSeesWhatIsIndexed(t *testing.T) {
	mem := newMemory(t)
	writer, reader := mem.open(), mem.open()
	index(t, writer)
	require.Equal(t, "notes/team.md#L1-L3", first(search(t, reader, "who is on call")))
	mem.write("zeppelin.md", "# Zeppelin\n\nThe zeppelin lands at noon.\n")
	index(t, writer)
	require.Equal(t, "notes/zeppelin.md#L1-L3", first(search(t, reader, "zeppelin lands")))
	_, err := writer.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	require.Equal(t, "notes/zeppelin.md#L1-L3", first(search(t, reader, "zeppelin lands")))
}

func TestInterruptedIndexGoesOn(t *testing.T) {
	for _, stopAt := range []int{1, 3, 10, 30, 60, 106} {
		t.Run(fmt.Sprint("after ", stopAt, " steps"), func(t *testing.T) {
			mem := newMemory(t)
			for i := range 100 {
				mem.write(fmt.Sprintf("many/%02d.md", i), fmt.Sprintf("# Note %d\n\nAbout topic%d and more.\n", i, i))
			}
			m := mem.open()
			ctx, cancel := context.WithCancel(t.Context())
			steps := 0
			_, err := m.Index(ctx, core.IndexOptions{Progress: func(core.Progress) {
				if steps++; steps == stopAt {
					cancel()
				}
			}})
			require.ErrorIs(t, err, context.Canceled)
			search(t, m, "topic7") // must answer in any case
			if report := index(t, m); report.Pending != 0 || report.Documents != 103 {
				t.Errorf("Index after an interrupted one: %+v, want 103 documents, none pending", report)
			}
			require.Equal(t, "notes/many/07.md#L1-L3", first(search(t, m, "topic7")))
		})
	}
}

func TestRetrieveRelevantNeverFailsATurn(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	index(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result, err := m.RetrieveRelevant(ctx, "staging postgres port", core.RetrieveOptions{})
	if len(result.Hits) != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("RetrieveRelevant with a cancelled context = %d hits, %v", len(result.Hits), err)
	}
	for _, request := range []string{"", "   \n", "\x00\xff", strings.Repeat("word ", 50_000)} {
		if _, err := m.RetrieveRelevant(t.Context(), request, core.RetrieveOptions{}); err != nil {
			t.Errorf("RetrieveRelevant(%.10q…): %v", request, err)
		}
	}
	require.NoError(t, m.Close())
	result, err = m.RetrieveRelevant(t.Context(), "staging", core.RetrieveOptions{})
	if len(result.Hits) != 0 || !errors.Is(err, core.ErrClosed) {
		t.Errorf("RetrieveRelevant after Close = %d hits, %v, want none, ErrClosed", len(result.Hits), err)
	}
	require.Equal(t, core.StateClosed, result.State)
}

func TestBadOptionsAreNamed(t *testing.T) {
	m := newMemory(t).open()
	for _, o := range []core.RetrieveOptions{{Scope: "galaxy"}, {MinSimilarity: 7}, {Limit: -1}} {
		if _, err := m.RetrieveRelevant(t.Context(), "x", o); !errors.Is(err, core.ErrOption) {
			t.Errorf("RetrieveRelevant with %+v: error %v, want ErrOption", o, err)
		}
	}
}

// Curated memory is not retrieved for a prompt that has it.
func TestCuratedIsNotRetrievedAgain(t *testing.T) {
	mem := newMemory(t)
	mem.options.Curated = curated.New(curated.Options{Dir: t.TempDir(), Beans: mem.notes, Names: []string{"absent.md", "team.md"}})
	m := mem.open()
	index(t, m)
	all := core.RetrieveOptions{MinSimilarity: -1}
	before, err := m.RetrieveRelevant(t.Context(), "who is on call", all)
	require.NoError(t, err)
	require.Equal(t, "notes/team.md#L1-L3", first(before))
	memory, err := m.Curated(t.Context())
	require.NoError(t, err)
	require.Contains(t, memory.Instructions(), "Ada is on call")
	beside := all
	beside.Has = memory.Given()
	for range 2 {
		after, err := m.RetrieveRelevant(t.Context(), "who is on call", beside)
		require.NoError(t, err)
		require.NotEqual(t, "notes/team.md#L1-L3", first(after))
		another, err := m.RetrieveRelevant(t.Context(), "who is on call", all)
		require.NoError(t, err)
		require.Equal(t, before.Hits, another.Hits)
	}
}

func TestRulesFor(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	none, err := m.RulesFor(t.Context(), "deploy")
	require.NoError(t, err)
	require.Empty(t, none.Instructions())
	beans := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(beans, "rules"), 0o755))
	for name, text := range map[string]string{"deploy.md": "---\ntriggers: deploy\n---\nAsk Ada.", "go.md": "---\nglobs: '*.go'\n---\nRun gofmt.", "always.md": "Be short.", "sql.md": "---\nglobs: db/**/*.sql\n---\nNo stars."} {
		require.NoError(t, os.WriteFile(filepath.Join(beans, "rules", name), []byte(text), 0o644))
	}
	mem = newMemory(t)
	dir := t.TempDir()
	mem.options.Curated = curated.New(curated.Options{Dir: dir, Beans: beans})
	m = mem.open()
	cases := map[string]string{"deploy it": "Ask Ada.", "why does api/main.go fail?": "Run gofmt.", "what is new?": "", "tidy db/orders/list.sql": "No stars."}
	if filepath.IsAbs("/") {
		cases["tidy "+dir+"/db/orders/list.sql"] = "No stars."
	}
	for request, want := range cases {
		for range 2 {
			rules, err := m.RulesFor(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, want, rules.Instructions())
		}
	}
}

func TestExplainHasEveryPart(t *testing.T) {
	m := newMemory(t).open()
	index(t, m)
	result, err := m.RetrieveRelevant(t.Context(), "staging postgres port", core.RetrieveOptions{MinSimilarity: 1e-9, Limit: 1, Explain: true})
	require.NoError(t, err)
	require.Len(t, result.Hits, 1)
	e := result.Hits[0].Explain
	if e == nil || e.Cosine == nil || e.BM25 <= 0 || e.BM25Normalised != 1 || e.Coverage <= 0 || e.Rank != 1 || e.Verdict != "kept" {
		t.Errorf("explanation of the best hit: %+v", e)
	}
	if len(result.Rejected) == 0 || result.Rejected[0].Explain.Verdict != "over limit" {
		t.Errorf("rejected: %+v, want the second best, over limit", result.Rejected)
	}
}

func TestGrowingLogIsReadOn(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	line := func(i int) string {
		return fmt.Sprintf(`{"role":"user","content":"message %d is about subject%d"}`+"\n", i, i)
	}
	log := ""
	for i := range 12 {
		log += line(i)
		mem.write("chat.jsonl", log)
		index(t, m)
	}
	result := search(t, m, "subject11")
	if first(result) != "notes/chat.jsonl#L12" {
		t.Errorf("the last message: %s first, want notes/chat.jsonl#L12", first(result))
	}
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	if status.Documents["conversation"] != 1 || status.Embedded != status.Chunks {
		t.Errorf("status %+v, want one conversation, all embedded", status)
	}
}

func TestQueriesBesideIndexing(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	index(t, m)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				result, err := m.Search(ctx, "who is on call", core.SearchOptions{})
				if err == nil && first(result) != "notes/team.md#L1-L3" {
					t.Errorf("Search beside Index = %s first", first(result))
				}
			}
		})
	}
	for i := range 8 {
		mem.write(fmt.Sprintf("n%d.md", i), fmt.Sprintf("# N%d\n\nunrelated%d\n", i, i))
		_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: i%4 == 3})
		require.NoError(t, err)
	}
	stop()
	all.Wait()
}
