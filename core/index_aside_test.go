package core_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/store"
)

// A tripping embedder answers otherwise if a text has the word "poison".
type tripping struct {
	hashEmbedder
	trip  atomic.Pointer[func(texts []string, vectors [][]float32) ([][]float32, error)]
	calls atomic.Int64
	each  func(calls int64) error // is called before each call; may be nil
}

func (e *tripping) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	n := e.calls.Add(1)
	if e.each != nil {
		if err := e.each(n); err != nil {
			return nil, err
		}
	}
	vectors, err := e.hashEmbedder.Embed(ctx, kind, texts)
	if trip := e.trip.Load(); err == nil && trip != nil && strings.Contains(strings.Join(texts, " "), "poison") {
		return (*trip)(texts, vectors)
	}
	return vectors, err
}

func (e *tripping) Fingerprint() string { return "tripping" }

// tripBy returns what becomes of an answer with a poisoned text.
func tripBy(spoil func(vectors [][]float32, i int) ([][]float32, error)) func([]string, [][]float32) ([][]float32, error) {
	return func(texts []string, vectors [][]float32) ([][]float32, error) {
		for i, text := range texts {
			if strings.Contains(text, "poison") {
				var err error
				if vectors, err = spoil(vectors, i); err != nil || i >= len(vectors) {
					return vectors, err
				}
			}
		}
		return vectors, nil
	}
}

func replaceBy(vector []float32) func([][]float32, int) ([][]float32, error) {
	return func(vectors [][]float32, i int) ([][]float32, error) {
		vectors[i] = vector
		return vectors, nil
	}
}

func unit(x float32) []float32 {
	v := make([]float32, hashDimension)
	v[0] = x
	return v
}

// trips are the ways in which an embedder can fail with a text.
var trips = map[string]func(vectors [][]float32, i int) ([][]float32, error){
	"unavailable": func([][]float32, int) ([][]float32, error) {
		return nil, fmt.Errorf("server: %w: answered 500", embed.ErrUnavailable)
	},
	"an unknown error": func([][]float32, int) ([][]float32, error) { return nil, errors.New("bug") },
	"NaN":              replaceBy(unit(float32(math.NaN()))),
	"infinite":         replaceBy(unit(float32(math.Inf(1)))),
	"zero":             replaceBy(unit(0)),
	"much too long":    replaceBy(unit(7)),
	"empty":            replaceBy([]float32{}),
	"missing":          replaceBy(nil),
	"another length":   replaceBy([]float32{0.6, 0.8}),
	"one vector fewer": func(vectors [][]float32, i int) ([][]float32, error) { return vectors[:len(vectors)-1], nil },
	"no vectors":       func([][]float32, int) ([][]float32, error) { return nil, nil },
}

const poisoned = "# Yew\n\nThe berries of the yew are poison to horses.\n"

// trippingMemory has 70 notes and one poisoned one.
func trippingMemory(t *testing.T, cached bool) (*memory, *tripping) {
	m := newMemory(t)
	e := &tripping{}
	m.options.Embedder = e
	if cached {
		c, err := cache.Open(e, filepath.Join(t.TempDir(), "vectors"), cache.Options{Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		m.options.Embedder = c
	}
	for i := range 67 {
		m.write(fmt.Sprintf("birds/%d.md", i), fmt.Sprintf("# Bird %d\n\nThe gull number %d nests on cliff %d.\n", i, i, i*i))
	}
	m.write("yew.md", poisoned)
	return m, e
}

func (e *tripping) tripOver(spoil func([][]float32, int) ([][]float32, error)) {
	trip := tripBy(spoil)
	e.trip.Store(&trip)
}

// A text that cannot be embedded costs only its own vector, is named, and is not asked for again
// until it or the embedder has changed.
func TestATextThatCannotBeEmbedded(t *testing.T) {
	for name, spoil := range trips {
		for _, cached := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, cached %v", name, cached), func(t *testing.T) {
				t.Parallel()
				mem, e := trippingMemory(t, cached)
				e.tripOver(spoil)
				m := mem.open()
				report := index(t, m)
				require.Empty(t, report.Degraded)
				require.Zero(t, report.Pending)
				require.Equal(t, report.Chunks-1, report.Embedded)
				require.Len(t, report.SetAside, 1)
				require.Equal(t, "notes/yew.md#L1-L3", report.SetAside[0].Source)
				require.LessOrEqual(t, e.calls.Load(), int64(20), "two to measure, two batches, and about twice log2(64) for the halves")
				named := func(m *core.Manager, want ...core.SetAside) {
					t.Helper()
					status, err := m.Status(t.Context())
					require.NoError(t, err)
					require.Equal(t, want, status.SetAside)
					require.Equal(t, status.Chunks, status.Embedded+len(want))
					require.Zero(t, status.Pending)
					require.Empty(t, status.Problems)
					require.NoError(t, m.Check(t.Context()))
				}
				named(m, report.SetAside...)
				require.Equal(t, "notes/yew.md#L1-L3", first(search(t, m, "berries of the yew")), "its words find it")
				require.Empty(t, search(t, m, "berries of the yew").Degraded)

				require.NoError(t, m.Close())
				m = mem.open()
				mem.write("new.md", "# Airships\n\nThe zeppelin lands at noon.\n")
				before := e.calls.Load()
				require.Equal(t, 1, index(t, m).Embedded)
				require.Equal(t, before+1, e.calls.Load(), "only the new note is asked for")
				named(m, report.SetAside...)

				e.trip.Store(nil)
				require.Zero(t, index(t, m).Embedded)
				mem.write("yew.md", strings.Replace(poisoned, "horses", "horses and cows", 1))
				require.Equal(t, 1, index(t, m).Embedded)
				named(m)

				e.tripOver(spoil)
				mem.write("yew.md", strings.Replace(poisoned, "horses", "all that eat them", 1))
				report = index(t, m)
				require.Len(t, report.SetAside, 1)
				named(m, report.SetAside...)
				mem.write("yew.md", "\n\n"+strings.Replace(poisoned, "horses", "all that eat them", 1))
				require.Empty(t, index(t, m).SetAside)
				report.SetAside[0].Source = "notes/yew.md#L3-L5"
				named(m, report.SetAside...)

				e.trip.Store(nil)
				_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
				require.NoError(t, err)
				named(m)
			})
		}
	}
}

// Of many texts that fail, each costs a bounded number of requests.
func TestManyTextsThatCannotBeEmbedded(t *testing.T) {
	for _, bad := range []int{2, 8, 64, 256} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			mem, e := trippingMemory(t, true)
			mem.write("yew.md", "# Trees\n")
			for i := range 256 {
				taste := "poison"
				if i%(256/bad) > 0 {
					taste = "food"
				}
				mem.write(fmt.Sprintf("trees/%d.md", i), fmt.Sprintf("# Tree %d\n\nThe berries of tree %d are %s.\n", i, i, taste))
			}
			e.tripOver(trips["NaN"])
			report := index(t, mem.open())
			require.Len(t, report.SetAside, bad)
			require.Equal(t, report.Chunks-bad, report.Embedded)
			require.Less(t, e.calls.Load(), int64(20+min(17*bad, 3*320)))
		})
	}
}

// An embedder that does not answer at all sets nothing aside, whenever it went away.
func TestAnEmbedderThatGoesAway(t *testing.T) {
	for name, others := range map[string]int{"the poisoned text is left in its last pair": 0, "right": 1} {
		t.Run(name, func(t *testing.T) {
			found := false
			from := int64(1)
			for ; !testGoesAway(t, others, from, &found); from++ {
			}
			require.Greater(t, from, int64(10))
			require.True(t, found)
		})
	}
}

// testGoesAway lets the embedder go away with a call, beside some newer notes. It returns whether
// there are no so many calls. found is set once the poisoned text was found before.
func testGoesAway(t *testing.T, others int, from int64, found *bool) bool {
	mem, e := trippingMemory(t, true)
	for i := range others {
		mem.write(fmt.Sprintf("newer%d.md", i), "# Newer\n\n"+strings.Repeat("A line of a newer note. ", 10)+"\n")
	}
	e.tripOver(trips["unavailable"])
	e.each = func(calls int64) error {
		if calls >= from {
			return fmt.Errorf("server: %w: connection refused", embed.ErrUnavailable)
		}
		return nil
	}
	m := mem.open()
	report := index(t, m)
	aside := core.SetAside{Source: "notes/yew.md#L1-L3", Reason: "server: answered 500"}
	if e.calls.Load() < from {
		require.Equal(t, []core.SetAside{aside}, report.SetAside)
		return true
	}
	require.NotEmpty(t, report.Degraded)
	for _, s := range report.SetAside {
		require.Equal(t, aside, s, "away from call %d on", from)
		*found = true
	}
	require.LessOrEqual(t, e.calls.Load(), from+5, "away from call %d on", from)
	e.each = nil
	require.Zero(t, index(t, m).Pending)
	require.NoError(t, m.Check(t.Context()))
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []core.SetAside{aside}, status.SetAside)
	return false
}

// A server's refusal that concerns the moment or the sender sets no text aside, even if it accepts
// other texts.
func TestRefusalsSetNothingAside(t *testing.T) {
	mem, e := trippingMemory(t, false)
	refused := func([][]float32, int) ([][]float32, error) {
		return nil, fmt.Errorf("server: %w: answered 429", embed.ErrRefused)
	}
	e.tripOver(refused)
	m := mem.open()
	report := index(t, m)
	require.Contains(t, report.Degraded, "429")
	require.Empty(t, report.SetAside)
	e.trip.Store(nil)
	require.Zero(t, index(t, m).Pending)
}

// A cancelled run asks no more and sets nothing aside.
func TestCancelledWhileHalving(t *testing.T) {
	for at := int64(4); at < 14; at++ {
		mem, e := trippingMemory(t, true)
		e.tripOver(trips["NaN"])
		ctx, cancel := context.WithCancel(t.Context())
		e.each = func(calls int64) error {
			if calls == at {
				cancel()
			}
			return ctx.Err()
		}
		report, err := mem.open().Index(ctx, core.IndexOptions{})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, at, e.calls.Load())
		require.Empty(t, report.SetAside)
	}
}

// The list of what is set aside holds no text, also where the server's error quotes it.
func TestSetAsideHoldsNoText(t *testing.T) {
	mem, e := trippingMemory(t, true)
	e.tripOver(func([][]float32, int) ([][]float32, error) {
		return nil, fmt.Errorf("server: %w: answered 400: cannot read %q", embed.ErrUnavailable, "The berries of the yew are poison to horses.")
	})
	report := index(t, mem.open())
	require.Equal(t, []core.SetAside{{Source: "notes/yew.md#L1-L3", Reason: `server: answered 400: cannot read "…`}}, report.SetAside)
	manifest, err := os.ReadFile(filepath.Join(mem.options.Folder, "1", "manifest.json"))
	require.NoError(t, err)
	require.Contains(t, string(manifest), "answered 400")
	require.NotContains(t, string(manifest), "berries")
}

// Whoever keeps records elsewhere learns which have no vector, and why.
func TestEmbedRecords(t *testing.T) {
	_, e := trippingMemory(t, false)
	records := []store.Record{{Text: "the tea is green"}, {Text: "a poison"}, {Text: "the kiln is hot"}}
	e.tripOver(func([][]float32, int) ([][]float32, error) { return nil, errors.New("too odd") })
	setAside, err := core.EmbedRecords(t.Context(), e, records)
	require.NoError(t, err)
	require.Equal(t, map[int]string{1: "too odd"}, setAside)
	require.Equal(t, []bool{true, false, true}, []bool{records[0].Vector != nil, records[1].Vector != nil, records[2].Vector != nil})
	away := error(embed.ErrUnavailable)
	e.fail.Store(&away)
	_, err = core.EmbedRecords(t.Context(), e, records)
	require.ErrorIs(t, err, embed.ErrUnavailable)
}
