package core_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// A testEngine is an engine, how often it is killed, what its files are (the kind of its manifest,
// and the pattern of those with vectors in a generation), and how these are damaged.
type testEngine struct {
	vectors     func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error)
	kills       int
	kind, files string
	damage      func([]byte) []byte
}

// testEngines are by name; a build with another engine adds it.
var testEngines = map[string]testEngine{
	"flat": {func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
		return flat.Open(ctx, dir, dimension)
	}, 40, "vectors", "vectors", func(text []byte) []byte {
		for i := range text {
			text[i] ^= 1
		}
		return text
	}},
}

// defaultEngine is that of tests which choose none; a build with the tag lancedbalways has another.
var defaultEngine = "flat"

func engineNamed(name string) store.Engine {
	return store.Engine{Name: name, Vectors: testEngines[name].vectors,
		Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) }}
}

// compacting counts its calls, and fails on request.
type compacting struct {
	calls int
	err   error
	have  func() bool // looked at when compacted
	ready []bool
}

func (c *compacting) compact() error {
	c.calls++
	if c.have != nil {
		c.ready = append(c.ready, c.have())
	}
	return c.err
}

type compactingVectors struct {
	store.VectorIndex
	*compacting
}

func (c compactingVectors) Compact(context.Context) error { return c.compact() }

type compactingKeywords struct {
	store.KeywordIndex
	*compacting
}

func (c compactingKeywords) Compact(context.Context) error { return c.compact() }

// withCompaction makes both indexes of options compactors.
func withCompaction(options *core.Options) (vectors, keywords *compacting) {
	vectors, keywords = &compacting{}, &compacting{}
	options.Engine.Vectors = func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
		index, err := flat.Open(ctx, dir, dimension)
		vectors.have = func() bool { n, err := index.Count(ctx); return n > 0 && err == nil }
		return compactingVectors{index, vectors}, err
	}
	options.Engine.Keywords = func(ctx context.Context, dir string) (store.KeywordIndex, error) {
		index, err := keyword.Open(ctx, dir)
		return compactingKeywords{index, keywords}, err
	}
	return vectors, keywords
}

func TestIndexCompactsAtItsEnd(t *testing.T) {
	mem := newMemory(t)
	vectors, keywords := withCompaction(&mem.options)
	m := mem.open()
	if report := index(t, m); len(report.Warnings) > 0 {
		t.Errorf("warnings %q, want none", report.Warnings)
	}
	if vectors.calls != 1 || keywords.calls != 1 {
		t.Errorf("a first run compacted vectors %d and keywords %d times, want once each", vectors.calls, keywords.calls)
	}
	if !slices.Equal(vectors.ready, []bool{true}) {
		t.Errorf("vectors were committed when they were compacted: %v, want [true]", vectors.ready)
	}
	_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	if vectors.calls != 2 || keywords.calls != 2 {
		t.Errorf("after a rebuild, vectors were compacted %d and keywords %d times, want twice each", vectors.calls, keywords.calls)
	}
}

func TestFoldInDoesNotCompact(t *testing.T) {
	mem := newMemory(t)
	mem.options.Freshness = time.Minute
	vectors, keywords := withCompaction(&mem.options)
	m := mem.open()
	index(t, m)
	mem.write("new.md", "# Airships\n\nThe zeppelin lands at noon.\n")
	if got := first(search(t, m, "zeppelin")); got != "notes/new.md#L1-L3" {
		t.Fatalf("the new note was not folded in: %q", got)
	}
	if vectors.calls != 1 || keywords.calls != 1 {
		t.Errorf("vectors were compacted %d and keywords %d times, want once, by the run of indexing", vectors.calls, keywords.calls)
	}
}

func TestCompactionThatFailsCostsNothing(t *testing.T) {
	for _, rebuild := range []bool{false, true} {
		mem := newMemory(t)
		vectors, _ := withCompaction(&mem.options)
		vectors.err = errors.New("no space left")
		m := mem.open()
		report, err := m.Index(t.Context(), core.IndexOptions{Rebuild: rebuild})
		if err != nil || report.Embedded != 4 || report.Pending != 0 {
			t.Errorf("Index, rebuild %v: %+v, %v, want all chunks embedded", rebuild, report, err)
		}
		if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "vectors not compacted") ||
			!strings.Contains(report.Warnings[0], "no space left") {
			t.Errorf("Index, rebuild %v: warnings %q, want one that says what was not compacted and why", rebuild, report.Warnings)
		}
		if got := first(search(t, m, "staging postgres port")); got != "notes/staging.md#L1-L5" {
			t.Errorf("Index, rebuild %v: best hit %q", rebuild, got)
		}
	}
}

func TestEngineOf(t *testing.T) {
	mem := newMemory(t)
	folder := mem.options.Folder
	kept, want := core.NewEngineReader(folder), 0
	engineOf := func() string {
		t.Helper()
		name, chunks, err := core.EngineOf(folder)
		require.NoError(t, err)
		require.Equal(t, want, chunks, "chunks")
		for range 2 {
			again, chunks, err := kept.Engine()
			require.NoError(t, err)
			require.Equal(t, name, again, "of the one that remembers")
			require.Equal(t, want, chunks, "chunks, of the one that remembers")
		}
		return name
	}
	if got := engineOf(); got != "" {
		t.Errorf("EngineOf of no folder = %q, want nothing", got)
	}

	away := error(embed.ErrUnavailable)
	mem.embedder.fail.Store(&away)
	m := mem.open()
	want = index(t, m).Chunks
	require.NoError(t, m.Close())
	if got := engineOf(); got != defaultEngine {
		t.Errorf("EngineOf while the embedder is away = %q, want %s, which was chosen", got, defaultEngine)
	}
	mem.embedder.fail.Store(nil)

	mem.options.Engine.Name = "other"
	moved := mem.open()
	index(t, moved)
	require.NoError(t, moved.Close())
	if got := engineOf(); got != "other" {
		t.Errorf("EngineOf after a run with another engine = %q, want other", got)
	}

	mem.options.Embedder = nil
	without := mem.open()
	index(t, without)
	if got := engineOf(); got != "" {
		t.Errorf("EngineOf an index without vectors = %q, want nothing", got)
	}
}

// EngineReader does not read an unchanged manifest again.
func TestEngineReaderReadsOnce(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	index(t, m)
	require.NoError(t, m.Close())
	file := filepath.Join(mem.options.Folder, "1", "manifest.json")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(file, past, past))
	kept := core.NewEngineReader(mem.options.Folder)
	name, _, err := kept.Engine()
	require.NoError(t, err)
	require.Equal(t, defaultEngine, name)

	require.NoError(t, os.WriteFile(file, bytes.Repeat([]byte("x"), len(text)), 0o600))
	require.NoError(t, os.Chtimes(file, past, past))
	name, _, err = kept.Engine()
	require.NoError(t, err, "it was read again")
	require.Equal(t, defaultEngine, name)
	for name, at := range map[string]time.Time{"another time": past.Add(time.Second), "so late a time that it may be another": time.Now()} {
		require.NoError(t, os.Chtimes(file, at, at))
		_, _, err = kept.Engine()
		require.ErrorIs(t, err, store.ErrCorrupt, name)
	}
}

func TestEngineOfDamage(t *testing.T) {
	for _, tt := range []struct {
		manifest string
		want     error
	}{{"{", store.ErrCorrupt}, {`{"format":1,"engine":"flat"}`, store.ErrFormat}, {`{"format":4,"engine":"flat"}`, store.ErrCorrupt}, {newer("memory", "1"), store.ErrNewer},
		{`{"format":99,"checksum":7,"content":{}}`, store.ErrCorrupt}} {
		mem := newMemory(t)
		m := mem.open()
		index(t, m)
		require.NoError(t, m.Close())
		kept := core.NewEngineReader(mem.options.Folder)
		if name, _, err := kept.Engine(); err != nil || name != defaultEngine {
			t.Errorf("Engine before the damage = %q, %v", name, err)
		}
		require.NoError(t, os.WriteFile(filepath.Join(mem.options.Folder, "1", "manifest.json"), []byte(tt.manifest), 0o600))
		if name, _, err := kept.Engine(); !errors.Is(err, tt.want) || name != "" {
			t.Errorf("Engine with manifest %s = %q, %v, want error %v", tt.manifest, name, err, tt.want)
		}
		if name, _, err := core.EngineOf(mem.options.Folder); !errors.Is(err, tt.want) || name != "" {
			t.Errorf("EngineOf with manifest %s = %q, %v, want error %v", tt.manifest, name, err, tt.want)
		}
	}
}

func TestAnotherEngineMeansARebuildSaidAloud(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	index(t, m)
	require.NoError(t, m.Close())
	mem.options.Engine.Name = "other"
	moved := mem.open()
	if result := search(t, moved, "staging postgres port"); len(result.Degraded) != 1 || !strings.Contains(result.Degraded[0], "engine "+defaultEngine+", this is other") {
		t.Errorf("a query before the move: degraded %q, want both engines named", result.Degraded)
	}
	if _, err := moved.Index(t.Context(), core.IndexOptions{KeepEngine: true, Rebuild: true}); !errors.Is(err, core.ErrEngine) {
		t.Errorf("Index that keeps the engine: error %v, want ErrEngine", err)
	}
	if got, want := index(t, moved).Rebuilt, "vectors were kept by the engine "+defaultEngine+", now by other"; got != want {
		t.Errorf("Rebuilt = %q, want %q", got, want)
	}
	if _, err := moved.Index(t.Context(), core.IndexOptions{KeepEngine: true}); err != nil {
		t.Errorf("Index that keeps the engine it has: error %v", err)
	}
	if result := search(t, moved, "staging postgres port"); first(result) != "notes/staging.md#L1-L5" || len(result.Degraded) > 0 {
		t.Errorf("after the move: %s first, degraded %q", first(result), result.Degraded)
	}
}
