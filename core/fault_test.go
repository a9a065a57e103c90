package core_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
)

var errDisk = errors.New("the disk does not answer")

// faults lets some calls of the indexes succeed and fails the next one.
type faults struct {
	mu     sync.Mutex
	armed  bool
	left   int
	err    error
	failed string // which call failed
}

// arm makes the call after so many fail.
func (f *faults) arm(after int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.left, f.err, f.failed = true, after, err, ""
}

// disarm lets all calls succeed and returns the failed one.
func (f *faults) disarm() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = false
	return f.failed
}

func (f *faults) next(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return nil
	}
	f.left--
	if f.left != -1 {
		return nil
	}
	f.failed = call
	return fmt.Errorf("%s: %w", call, f.err)
}

// A faultyIndex is an index with faults.
type faultyIndex struct {
	store.Index
	name string
	*faults
}

func (x faultyIndex) Put(ctx context.Context, recs []store.Record) error {
	return errors.Join(x.next(x.name+".Put"), x.Index.Put(ctx, recs))
}

func (x faultyIndex) Delete(ctx context.Context, ids []string) error {
	return errors.Join(x.next(x.name+".Delete"), x.Index.Delete(ctx, ids))
}

func (x faultyIndex) Commit(ctx context.Context) error {
	if err := x.next(x.name + ".Commit"); err != nil {
		x.Discard()
		return err
	}
	return x.Index.Commit(ctx)
}

func (x faultyIndex) Document(ctx context.Context, path string) ([]store.Record, error) {
	if err := x.next(x.name + ".Document"); err != nil {
		return nil, err
	}
	return x.Index.Document(ctx, path)
}

func (x faultyIndex) Count(ctx context.Context) (int, error) {
	if err := x.next(x.name + ".Count"); err != nil {
		return 0, err
	}
	return x.Index.Count(ctx)
}

func (x faultyIndex) Stats(ctx context.Context) (store.Stats, error) {
	if err := x.next(x.name + ".Stats"); err != nil {
		return store.Stats{}, err
	}
	return x.Index.Stats(ctx)
}

func (x faultyIndex) Check(ctx context.Context) error {
	return errors.Join(x.next(x.name+".Check"), x.Index.Check(ctx))
}

type faultyVectors struct {
	faultyIndex
	vectors store.VectorIndex
}

func (x faultyVectors) Dimension() int { return x.vectors.Dimension() }

func (x faultyVectors) Nearest(ctx context.Context, vec []float32, k int, f store.Filter) ([]store.Hit, error) {
	if err := x.next("vectors.Nearest"); err != nil {
		return nil, err
	}
	return x.vectors.Nearest(ctx, vec, k, f)
}

func (x faultyVectors) Similarities(ctx context.Context, vec []float32, ids []string) (map[string]float64, error) {
	if err := x.next("vectors.Similarities"); err != nil {
		return nil, err
	}
	return x.vectors.Similarities(ctx, vec, ids)
}

type faultyKeywords struct {
	faultyIndex
	keywords store.KeywordIndex
}

func (x faultyKeywords) Match(ctx context.Context, query string, k int, f store.Filter) (store.Matches, error) {
	if err := x.next("keywords.Match"); err != nil {
		return store.Matches{}, err
	}
	return x.keywords.Match(ctx, query, k, f)
}

func (x faultyKeywords) Scores(ctx context.Context, query string, ids []string) (map[string]store.Score, error) {
	if err := x.next("keywords.Scores"); err != nil {
		return nil, err
	}
	return x.keywords.Scores(ctx, query, ids)
}

// withFaults makes both indexes and their opening faulty.
func (m *memory) withFaults() *faults {
	f := &faults{}
	engine := m.options.Engine
	m.options.Engine.Vectors = func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
		if err := f.next("vectors.Open"); err != nil {
			return nil, err
		}
		index, err := engine.Vectors(ctx, dir, dimension)
		if err != nil {
			return nil, err
		}
		return faultyVectors{faultyIndex{index, "vectors", f}, index}, nil
	}
	m.options.Engine.Keywords = func(ctx context.Context, dir string) (store.KeywordIndex, error) {
		if err := f.next("keywords.Open"); err != nil {
			return nil, err
		}
		index, err := engine.Keywords(ctx, dir)
		if err != nil {
			return nil, err
		}
		return faultyKeywords{faultyIndex{index, "keywords", f}, index}, nil
	}
	return f
}

// opens makes sure that the indexes are open.
func opens(t *testing.T, m *core.Manager) {
	t.Helper()
	_, err := m.Status(t.Context())
	require.NoError(t, err)
}

// eachCall runs do with each call failing once.
func eachCall(t *testing.T, do func(t *testing.T, fail func(f *faults))) {
	for name, cause := range map[string]error{"away": errDisk, "damage": fmt.Errorf("%w: %w", store.ErrCorrupt, errDisk)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for after := 0; ; after++ {
				var armed *faults
				do(t, func(f *faults) {
					armed = f
					f.arm(after, cause)
				})
				require.NotNil(t, armed)
				if armed.failed == "" {
					require.Greater(t, after, 0, "no call failed")
					return
				}
			}
		})
	}
}

// whole checks that a run of indexing without faults completes the memory.
func whole(t *testing.T, m *core.Manager, want map[string]string) {
	t.Helper()
	report := index(t, m)
	require.Zero(t, report.Pending)
	require.NoError(t, m.Check(t.Context()))
	for query, source := range want {
		result := search(t, m, query)
		require.Empty(t, result.Degraded, query)
		if source == "" {
			for _, hit := range result.Hits {
				require.NotContains(t, hit.Text, query)
			}
			continue
		}
		require.Equal(t, source, first(result), query)
	}
}

// The next run completes a first run with any fault.
func TestFirstRunWithFaults(t *testing.T) {
	eachCall(t, func(t *testing.T, fail func(*faults)) {
		mem := newMemory(t)
		f := mem.withFaults()
		m := mem.open()
		fail(f)
		report, err := m.Index(t.Context(), core.IndexOptions{})
		if failed := f.disarm(); failed != "" {
			require.True(t, err != nil || report.Rebuilt != "", "%s failed and no one was told", failed)
		}
		whole(t, m, map[string]string{"staging postgres port": "notes/staging.md#L1-L5", "on call": "notes/team.md#L1-L3"})
	})
}

// A failing call loses no change.
func TestChangesWithFaults(t *testing.T) {
	eachCall(t, func(t *testing.T, fail func(*faults)) {
		mem := newMemory(t)
		f := mem.withFaults()
		m := mem.open()
		index(t, m)
		mem.write("staging.md", "# Staging\n\n## Database\n\nThe staging postgres listens on port 6000.\n")
		mem.write("new.md", "# Airships\n\nThe zeppelin lands at noon.\n")
		require.NoError(t, os.Remove(filepath.Join(mem.notes, "team.md")))
		fail(f)
		_, err := m.Index(t.Context(), core.IndexOptions{})
		failed := f.disarm()
		if err != nil {
			require.ErrorIs(t, err, errDisk)
		}
		result := search(t, m, "restart nginx after this change")
		require.Equal(t, "notes/deploy.md#L1-L5", first(result), "what did not change is found after %s failed", failed)
		whole(t, m, map[string]string{"zeppelin": "notes/new.md#L1-L3", "staging postgres": "notes/staging.md#L1-L5", "5433": "", "on call in odd weeks": "", "6390": ""})
	})
}

// A failed rebuild leaves the old index.
func TestRebuildWithFaults(t *testing.T) {
	eachCall(t, func(t *testing.T, fail func(*faults)) {
		mem := newMemory(t)
		f := mem.withFaults()
		m := mem.open()
		index(t, m)
		mem.write("staging.md", "# Staging\n\nAll is new.\n")
		fail(f)
		_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
		if failed := f.disarm(); failed != "" && err != nil {
			require.ErrorIs(t, err, errDisk)
			require.Contains(t, first(search(t, m, "staging postgres port")), "notes/staging.md#L1-L5", "%s failed", failed)
		}
		whole(t, m, map[string]string{"all is new": "notes/staging.md#L1-L3", "5433": ""})
	})
}

// A query that cannot index what is new says so.
func TestFoldInWithFaults(t *testing.T) {
	eachCall(t, func(t *testing.T, fail func(*faults)) {
		mem := newMemory(t)
		f := mem.withFaults()
		m := mem.open()
		index(t, m)
		require.NoError(t, m.Close())
		mem.options.Freshness = time.Minute
		m = mem.open()
		opens(t, m)
		mem.write("new.md", "# Airships\n\nThe zeppelin lands at noon.\n")
		require.NoError(t, os.Remove(filepath.Join(mem.notes, "team.md")))
		fail(f)
		result, err := m.Search(t.Context(), "zeppelin", core.SearchOptions{})
		if failed := f.disarm(); failed != "" {
			told := err != nil || result.Stale != nil && strings.Contains(result.Stale.Reason, errDisk.Error()) || len(result.Degraded) > 0
			require.True(t, told || first(result) == "notes/new.md#L1-L3", "%s failed, %+v", failed, result)
		} else {
			require.Equal(t, "notes/new.md#L1-L3", first(result))
		}
		whole(t, m, map[string]string{"zeppelin": "notes/new.md#L1-L3", "on call in odd weeks": ""})
	})
}

// A query embeds a chunk without a vector, or answers anyway.
func TestEmbeddingAtAQueryWithFaults(t *testing.T) {
	eachCall(t, func(t *testing.T, fail func(*faults)) {
		mem := newMemory(t)
		f := mem.withFaults()
		away := error(embed.ErrUnavailable)
		mem.embedder.fail.Store(&away)
		m := mem.open()
		index(t, m)
		mem.embedder.fail.Store(nil)
		require.NoError(t, m.Close())
		mem.options.Freshness = time.Minute
		m = mem.open()
		fail(f)
		result, err := m.Search(t.Context(), "staging postgres port", core.SearchOptions{})
		if failed := f.disarm(); err != nil {
			require.ErrorIs(t, err, errDisk, failed)
		} else {
			require.Equal(t, "notes/staging.md#L1-L5", first(result), "%s failed", failed)
		}
		whole(t, m, map[string]string{"staging postgres port": "notes/staging.md#L1-L5"})
	})
}

// A query answers from the rest and says what is missing.
func TestQueriesWithFaults(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *core.Manager) (core.Result, error){
		"search": func(ctx context.Context, m *core.Manager) (core.Result, error) {
			return m.Search(ctx, "staging postgres port", core.SearchOptions{})
		},
		"with a time": func(ctx context.Context, m *core.Manager) (core.Result, error) {
			return m.Search(ctx, "what did we say about the staging postgres port last week", core.SearchOptions{})
		},
		"turn": func(ctx context.Context, m *core.Manager) (core.Result, error) {
			return m.RetrieveRelevant(ctx, "Which port does staging postgres listen on?", core.RetrieveOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem := newMemory(t)
			for i := range 12 { // more than are candidates of each index
				mem.write(fmt.Sprintf("more/%d.md", i), fmt.Sprintf("# Note %d\n\nSome port number %d.\n", i, i))
			}
			f := mem.withFaults()
			m := mem.open()
			index(t, m)
			opens(t, m)
			for after := 0; ; after++ {
				f.arm(after, errDisk)
				result, err := ask(t.Context(), m)
				failed := f.disarm()
				if failed == "" {
					require.NoError(t, err)
					require.Empty(t, result.Degraded)
					require.Greater(t, after, 1)
					return
				}
				require.NoError(t, err, failed)
				require.NotEmpty(t, result.Degraded, failed)
				require.Contains(t, strings.Join(result.Degraded, "; "), errDisk.Error(), failed)
				require.NotEqual(t, core.StateMissing, result.State, failed)
			}
		})
	}
}

// If neither index answers, that is an error.
func TestAQueryThatNoIndexAnswers(t *testing.T) {
	mem := newMemory(t)
	mem.options.Embedder = nil
	f := mem.withFaults()
	m := mem.open()
	index(t, m)
	opens(t, m)
	f.arm(0, errDisk)
	_, err := m.Search(t.Context(), "staging", core.SearchOptions{})
	require.Equal(t, "keywords.Match", f.disarm())
	require.ErrorIs(t, err, errDisk)
}

// Reading the whole memory fails with any call: it returns no part.
func TestReadingWithFaults(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	f := mem.withFaults()
	m := mem.open()
	index(t, m)
	chunks, err := m.Chunks(t.Context(), "notes/staging.md")
	require.NoError(t, err)
	for name, read := range map[string]func() error{
		"check": func() error { return m.Check(t.Context()) },
		"chunks": func() error {
			_, err := m.Chunks(t.Context(), "notes/staging.md")
			return err
		},
		"find": func() error {
			_, err := m.Find(t.Context(), chunks[0].ID)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for after := 0; ; after++ {
				f.arm(after, errDisk)
				err := read()
				if f.disarm() == "" {
					require.NoError(t, err)
					require.Greater(t, after, 0)
					return
				}
				require.ErrorIs(t, err, errDisk)
			}
		})
	}
}

// A successful Forget has forgotten; a failed one can be repeated.
func TestForgettingWithFaults(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	f := mem.withFaults()
	m := mem.open()
	index(t, m)
	for after := 0; ; after++ {
		f.arm(after, errDisk)
		_, err := m.Forget(t.Context(), "notes/staging.md")
		failed := f.disarm()
		if err != nil {
			require.ErrorIs(t, err, errDisk)
			index(t, m)
			if _, err := m.Forget(t.Context(), "notes/staging.md"); err != nil { // as a person does who was told of the error
				require.ErrorIs(t, err, core.ErrNotIndexed)
			}
		}
		require.False(t, found(t, m, "staging postgres", "postgres"), "%s failed", failed)
		if failed == "" {
			require.Greater(t, after, 2)
			return
		}
		n, err := m.Remember(t.Context(), "notes/staging.md")
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.True(t, found(t, m, "staging postgres", "postgres"))
	}
}

// Status names the index that did not answer.
func TestStatusWithFaults(t *testing.T) {
	mem := newMemory(t)
	f := mem.withFaults()
	m := mem.open()
	index(t, m)
	opens(t, m)
	for after := range 2 {
		f.arm(after, errDisk)
		status, err := m.Status(t.Context())
		require.NotEmpty(t, f.disarm())
		require.NoError(t, err)
		require.Len(t, status.Problems, 1)
		require.Contains(t, status.Problems[0], errDisk.Error())
	}
}

// Check finds records that only one index has.
func TestIndexesThatDisagree(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, mem *memory){
		"a chunk without a vector": func(t *testing.T, mem *memory) {
			x, err := mem.options.Engine.Vectors(t.Context(), filepath.Join(mem.options.Folder, "1", "vectors"), hashDimension)
			require.NoError(t, err)
			spoilDocument(t, x, true)
		},
		"a chunk that the manifest knows nothing of": func(t *testing.T, mem *memory) {
			x, err := mem.options.Engine.Keywords(t.Context(), filepath.Join(mem.options.Folder, "1", "keywords"))
			require.NoError(t, err)
			spoilDocument(t, x, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem := newMemory(t)
			m := mem.open()
			index(t, m)
			spoil(t, mem)
			err := m.Check(t.Context())
			require.ErrorIs(t, err, store.ErrCorrupt)
			require.ErrorContains(t, err, "notes/staging.md")
			require.Contains(t, index(t, m).Rebuilt, "damage was found")
			require.NoError(t, m.Check(t.Context()))
		})
	}
}

// spoilDocument makes the two indexes disagree about a document: one more record, or for vectors
// one in place of another.
func spoilDocument(t *testing.T, x store.Index, instead bool) {
	t.Helper()
	defer x.Close()
	records, err := x.Document(t.Context(), "notes/staging.md")
	require.NoError(t, err)
	other := records[0]
	other.ID = "00"
	if instead {
		other.Vector = hashVector("other")
		require.NoError(t, x.Delete(t.Context(), []string{records[0].ID}))
	}
	require.NoError(t, x.Put(t.Context(), []store.Record{other}))
	require.NoError(t, x.Commit(t.Context()))
}

// faultySource is a source that cannot be listed.
type faultySource struct{ source.Source }

func (s faultySource) Name() string { return "attic" }

func (s faultySource) List(context.Context) (source.Listing, error) {
	return source.Listing{}, errDisk
}

// A source that cannot be listed costs a warning and keeps its documents. If there is no other,
// Index fails.
func TestASourceThatCannotBeListed(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	index(t, m)
	require.NoError(t, m.Close())
	listed := mem.options.Sources
	mem.options.Sources = append([]source.Source{faultySource{}}, listed...)
	mem.options.Sources = append(mem.options.Sources, listed...) // the same folder twice is there once
	mem.options.Freshness = time.Second
	m = mem.open()
	report := index(t, m)
	require.Equal(t, []string{"attic: " + errDisk.Error()}, report.Warnings)
	require.Equal(t, 3, report.Documents)
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"attic: " + errDisk.Error()}, status.Problems)
	result, err := m.Search(t.Context(), "staging", core.SearchOptions{})
	require.NoError(t, err)
	require.Contains(t, result.Degraded, "a source cannot be read, so hits from it may be out of date: attic: "+errDisk.Error())
	require.NoError(t, m.Close())

	mem.options.Sources = []source.Source{faultySource{}}
	m = mem.open()
	_, err = m.Index(t.Context(), core.IndexOptions{})
	require.ErrorContains(t, err, "no source can be read: attic")
	mem.options.Sources = listed
	require.NoError(t, mem.open().Check(t.Context()))
}

// A folder that is not there has no documents, so that an index without it is complete; one that
// only cannot be read may have some.
func TestIndexWithoutASource(t *testing.T) {
	for want, missing := range map[core.State]source.Source{
		core.StateReady:    source.NewFolder(source.FolderOptions{Path: filepath.Join(t.TempDir(), "vault")}),
		core.StateBuilding: faultySource{},
	} {
		mem := newMemory(t)
		mem.options.Sources = append(mem.options.Sources, missing)
		m := mem.open()
		require.Len(t, index(t, m).Warnings, 1)
		status, err := m.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, status.State)
		require.Len(t, status.Problems, 1)
		require.Equal(t, want, search(t, m, "staging").State)
	}
}
