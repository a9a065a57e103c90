//go:build lancedb

package shared

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/lancedb/internal/table"
)

const dimension = 4

func open(t testing.TB, uri string) *Table {
	t.Helper()
	shared, err := Open(uri, Options{Dimension: dimension})
	require.NoError(t, err)
	return shared
}

func record(n int, text string) store.Record {
	return store.Record{ID: fmt.Sprintf("%04x", n), Scope: "project", Kind: "markdown", Path: fmt.Sprintf("notes/%d.md", n%7), StartLine: n + 1,
		EndLine: n + 1, Text: text, Hash: text, Vector: []float32{1, 0, 0, 0}}
}

func texts(records []store.Record) []string {
	var all []string
	for _, r := range records {
		all = append(all, r.ID+" "+r.Text)
	}
	slices.Sort(all)
	return all
}

func owned(t testing.TB, shared *Table, owner string) []string {
	t.Helper()
	records, err := shared.Owned(t.Context(), owner)
	require.NoError(t, err)
	return texts(records)
}

func TestPublishAndChanges(t *testing.T) {
	shared := open(t, filepath.Join(t.TempDir(), "shared"))
	require.Empty(t, owned(t, shared, "a"))
	changes, cursor, err := shared.Changes(t.Context(), "b", nil)
	require.NoError(t, err)
	require.Empty(t, changes)

	require.NoError(t, shared.Publish(t.Context(), "a", "model", []store.Record{record(1, "one"), record(2, "two")}, nil))
	require.NoError(t, shared.Publish(t.Context(), "b", "model", []store.Record{record(1, "of b")}, nil))
	require.Equal(t, []string{"0001 one", "0002 two"}, owned(t, shared, "a"))
	changes, cursor, err = shared.Changes(t.Context(), "b", cursor)
	require.NoError(t, err)
	require.Equal(t, store.Cursor{"a": 1, "": cursor.Storage()}, cursor)
	require.Len(t, changes, 2)
	require.Equal(t, store.Change{Owner: "a", Embedder: "model", Record: record(1, "one")}, changes[0])

	require.NoError(t, shared.Publish(t.Context(), "a", "model", []store.Record{record(1, "uno"), record(3, "three")}, []store.Record{record(2, "")}))
	require.Equal(t, []string{"0001 uno", "0003 three"}, owned(t, shared, "a"))
	changes, next, err := shared.Changes(t.Context(), "b", cursor)
	require.NoError(t, err)
	require.Equal(t, store.Cursor{"a": 2, "": next.Storage()}, next)
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprint(c.Record.ID, " ", c.Record.Text, " ", c.Gone, " ", c.Record.Path))
	}
	require.Equal(t, []string{"0001 uno false notes/1.md", "0002  true notes/2.md", "0003 three false notes/3.md"}, got)
	changes, _, err = shared.Changes(t.Context(), "b", next)
	require.NoError(t, err)
	require.Empty(t, changes)

	// Without a cursor, Changes returns the latest row of each record of each owner.
	changes, _, err = shared.Changes(t.Context(), "c", nil)
	require.NoError(t, err)
	require.Len(t, changes, 4)
}

// The creator of the table may be killed after making its folder, before the first manifest.
func TestTableThatWasNeverFinished(t *testing.T) {
	uri := filepath.Join(t.TempDir(), "shared")
	require.NoError(t, os.MkdirAll(filepath.Join(uri, table.Name+".lance", "data"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(uri, table.Name+".lance", "data", "half.lance"), []byte("half"), 0o644))
	shared := open(t, uri)
	require.Empty(t, owned(t, shared, "a"))
	require.NoError(t, shared.Publish(t.Context(), "a", "model", []store.Record{record(1, "one")}, nil))
	require.Equal(t, []string{"0001 one"}, owned(t, shared, "a"))
}

func TestVectorsOfAnotherLengthAreLeftOut(t *testing.T) {
	shared := open(t, t.TempDir())
	require.NoError(t, shared.Publish(t.Context(), "first", "model", []store.Record{record(9, "fits")}, nil))
	long := record(1, "long")
	long.Vector = make([]float32, 9)
	require.NoError(t, shared.Publish(t.Context(), "a", "model", []store.Record{long}, nil))
	changes, _, err := shared.Changes(t.Context(), "b", nil)
	require.NoError(t, err)
	require.Nil(t, changes[0].Record.Vector)
	require.Empty(t, changes[0].Embedder)
}

func TestTableOfAnotherDimension(t *testing.T) {
	uri := t.TempDir()
	require.NoError(t, open(t, uri).Publish(t.Context(), "a", "small", []store.Record{record(1, "one")}, nil))
	other, err := Open(uri, Options{Dimension: 9})
	require.NoError(t, err)
	long := record(2, "two")
	long.Vector = make([]float32, 9)
	require.NoError(t, other.Publish(t.Context(), "b", "large", []store.Record{long}, nil))
	changes, _, err := other.Changes(t.Context(), "c", nil)
	require.NoError(t, err)
	require.Len(t, changes, 2)
	require.Len(t, changes[0].Record.Vector, dimension)
	require.Nil(t, changes[1].Record.Vector)
}

// TestTableFitsTheFirstVectors has an embedder whose dimension is unknown at first.
func TestTableFitsTheFirstVectors(t *testing.T) {
	guessed, err := Open(t.TempDir(), Options{Dimension: 9})
	require.NoError(t, err)
	without := record(1, "not embedded")
	without.Vector = nil
	require.NoError(t, guessed.Publish(t.Context(), "a", "model", []store.Record{without, record(2, "one")}, nil))
	changes, _, err := guessed.Changes(t.Context(), "b", nil)
	require.NoError(t, err)
	require.Equal(t, record(2, "one").Vector, changes[1].Record.Vector)
}

// TestCrashBetweenAppendAndDelete repeats what a publisher does before it is killed.
func TestCrashBetweenAppendAndDelete(t *testing.T) {
	shared := open(t, t.TempDir())
	require.NoError(t, shared.Publish(t.Context(), "a", "", []store.Record{record(1, "one"), record(2, "two")}, nil))
	for number := int64(2); number < 4; number++ { // the same batch twice, as after a lost answer
		opened, err := table.Open(t.Context(), shared.uri, shared.schema)
		require.NoError(t, err)
		require.NoError(t, opened.Add(t.Context(), rowsOf(dimension, "a", "", 2, []store.Record{record(1, "uno")}, []store.Record{record(2, "")})))
		require.NoError(t, opened.Close())
	}
	require.Equal(t, []string{"0001 uno"}, owned(t, shared, "a"))
	changes, cursor, err := shared.Changes(t.Context(), "b", store.Cursor{"a": 1})
	require.NoError(t, err)
	require.Len(t, changes, 2)
	require.Equal(t, store.Cursor{"a": 2, "": cursor.Storage()}, cursor)
	require.NoError(t, shared.Publish(t.Context(), "a", "", []store.Record{record(9, "nine")}, nil))
	require.Equal(t, []string{"0001 uno", "0009 nine"}, owned(t, shared, "a"))
	var got []string
	for _, row := range ownedRows(t, shared, "a") {
		got = append(got, fmt.Sprint(row.Record.ID, " ", row.Record.Text, " ", number(row)))
	}
	slices.Sort(got)
	require.Equal(t, []string{"0001 uno 2", "0002  2", "0009 nine 3"}, got) // each once, none of batch 1
}

// ownedRows returns all rows of an owner, replaced ones too.
func ownedRows(t testing.TB, shared *Table, owner string) []table.Row {
	t.Helper()
	opened, err := table.Open(t.Context(), shared.uri, shared.schema)
	require.NoError(t, err)
	defer opened.Close()
	all, err := rows(t.Context(), opened, ownedBy(owner), true)
	require.NoError(t, err)
	return all
}

// TestCrashInCompaction repeats what a publisher does before it is killed between the append and
// the delete of a compaction. The next one has to clean at once, long before its own compaction.
func TestCrashInCompaction(t *testing.T) {
	shared := open(t, t.TempDir())
	const batches = 20
	want := []string{"0099 new"}
	for n := range batches {
		require.NoError(t, shared.Publish(t.Context(), "a", "model", []store.Record{record(n, "x")}, nil))
		want = append(want, fmt.Sprintf("%04x x", n))
	}
	slices.Sort(want)
	opened, err := table.Open(t.Context(), shared.uri, shared.schema)
	require.NoError(t, err)
	defer opened.Close()
	again := ownedRows(t, shared, "a")
	now := time.Now().UnixMicro()
	for _, row := range again {
		row.Extra[appendColumn] = now
	}
	require.NoError(t, opened.Add(t.Context(), again))
	require.Len(t, ownedRows(t, shared, "a"), 2*batches)
	before, err := opened.Version(t.Context())
	require.NoError(t, err)

	require.NoError(t, shared.Publish(t.Context(), "a", "model", []store.Record{record(0x99, "new")}, nil))
	require.Equal(t, want, owned(t, shared, "a"))
	left := ownedRows(t, shared, "a")
	if a := accountOf(left); len(left) != batches+1 || len(a.appends) != 2 {
		t.Errorf("after a compaction that was cut short and a publish there are %d rows in %d appends, want %d in 2", len(left), len(a.appends), batches+1)
	}
	for _, row := range left {
		require.Len(t, row.Record.Vector, dimension)
	}
	reopened, err := table.Open(t.Context(), shared.uri, shared.schema)
	require.NoError(t, err)
	defer reopened.Close()
	after, err := reopened.Version(t.Context())
	require.NoError(t, err)
	require.Equal(t, before+2, after, "commits: an append and a delete, however many batches there were")
}

func TestManyPublishesStayFewFragments(t *testing.T) {
	uri := t.TempDir()
	shared := open(t, uri)
	const publishes = 150
	for n := range publishes {
		require.NoError(t, shared.Publish(t.Context(), "a", "model", []store.Record{record(n, "x"), record(n/2, "y")}, nil))
	}
	require.Len(t, owned(t, shared, "a"), publishes)
	opened, err := table.Open(t.Context(), uri, shared.schema)
	require.NoError(t, err)
	defer opened.Close()
	all, err := rows(t.Context(), opened, ownedBy("a"), true)
	require.NoError(t, err)
	if a := accountOf(all); len(a.appends) > maxAppends+1 || len(all) > publishes+2 {
		t.Errorf("after %d publishes there are %d appends with %d rows", publishes, len(a.appends), len(all))
	}
	for _, row := range all {
		require.Len(t, row.Record.Vector, dimension)
	}
	changes, cursor, err := shared.Changes(t.Context(), "b", nil)
	require.NoError(t, err)
	require.Len(t, changes, publishes)
	require.Equal(t, store.Cursor{"a": publishes, "": cursor.Storage()}, cursor)
}

func TestOpenRefuses(t *testing.T) {
	for _, test := range []struct {
		uri       string
		dimension int
	}{{"", 4}, {"x", 0}, {"x", -1}} {
		if _, err := Open(test.uri, Options{Dimension: test.dimension}); err == nil {
			t.Errorf("Open(%q, %d): no error", test.uri, test.dimension)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	if err := open(t, file).Publish(t.Context(), "a", "", []store.Record{record(1, "x")}, nil); err == nil {
		t.Error("Publish into a file: no error")
	}
}

// TestAnotherTable deletes the table and makes it again.
func TestAnotherTable(t *testing.T) {
	uri := t.TempDir()
	shared := open(t, uri)
	require.NoError(t, shared.Publish(t.Context(), "a", "", []store.Record{record(1, "one")}, nil))
	require.NoError(t, shared.Publish(t.Context(), "a", "", []store.Record{record(2, "two")}, nil))
	_, first, err := shared.Changes(t.Context(), "b", nil)
	require.NoError(t, err)
	require.Equal(t, 1, first.Owners())
	require.NotZero(t, first.Storage())

	require.NoError(t, os.RemoveAll(filepath.Join(uri, table.Name+".lance")))
	if changes, next, err := shared.Changes(t.Context(), "b", first); err == nil || changes != nil || next != nil {
		t.Errorf("Changes of a table that is gone = %v, %v, no error", changes, next)
	}
	require.NoError(t, shared.Publish(t.Context(), "a", "", []store.Record{record(3, "three")}, nil))
	changes, next, err := shared.Changes(t.Context(), "b", first)
	require.NoError(t, err)
	require.NotEqual(t, first.Storage(), next.Storage())
	require.Equal(t, store.Cursor{"a": 1, "": next.Storage()}, next)
	require.Len(t, changes, 1)
	require.Equal(t, "three", changes[0].Record.Text)
}

// everything calls Changes until all is known.
func everything(t *testing.T, shared *Table, owner string) (all []store.Change, calls int) {
	t.Helper()
	var cursor store.Cursor
	for {
		changes, next, err := shared.Changes(t.Context(), owner, cursor)
		require.NoError(t, err)
		calls++
		if len(changes) == 0 {
			require.Equal(t, cursor, next)
			return all, calls
		}
		all, cursor = append(all, changes...), next
	}
}

// TestManyRows reads more rows than one answer has: of two owners, with a batch larger than a step.
func TestManyRows(t *testing.T) {
	shared := open(t, t.TempDir())
	want := map[string]bool{}
	publish := func(owner string, from, size int) {
		var batch []store.Record
		for n := from; n < from+size; n++ {
			batch = append(batch, record(n, "x"))
			want[fmt.Sprintf("%s %04x", owner, n)] = true
		}
		require.NoError(t, shared.Publish(t.Context(), owner, "model", batch, nil))
	}
	publish("a", 0, 2*rowsPerRead+1)
	publish("a", 20000, rowsPerStep-1)
	publish("a", 30000, 2)
	publish("b", 0, 10)
	publish("b", 10, rowsPerStep)
	require.Len(t, owned(t, shared, "a"), 2*rowsPerRead+rowsPerStep+2)
	changes, calls := everything(t, shared, "c")
	for _, c := range changes {
		delete(want, c.Owner+" "+c.Record.ID)
		require.Len(t, c.Record.Vector, dimension)
	}
	require.Empty(t, want)
	require.Len(t, changes, 2*rowsPerRead+2*rowsPerStep+12)
	if calls != 4 { // 8001 of a; 3999 and 2 of a; 10 and 4000 of b; none
		t.Errorf("Changes was called %d times", calls)
	}
}
