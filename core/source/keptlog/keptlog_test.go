package keptlog

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

func turn(line int, text string) chunker.Turn {
	return chunker.Turn{Line: line, EndLine: line, Role: "user", Text: text}
}

func texts(turns []chunker.Turn) (all []string) {
	for _, t := range turns {
		all = append(all, t.Text)
	}
	return all
}

func frame(t testing.TB, log Log, turns ...chunker.Turn) []byte {
	t.Helper()
	data, err := Frame(log, turns)
	require.NoError(t, err)
	return data
}

func TestStore(t *testing.T) {
	store := In(filepath.Join(t.TempDir(), "kept"))
	_, _, err := store.Read("a.jsonl")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, store.Remove("a.jsonl"))
	at := time.Now().Add(-90 * 24 * time.Hour).Truncate(time.Second).UTC()
	asked := turn(1, "one")
	asked.Asked = "which?"
	log := Log{Path: "a.jsonl", File: "/gone/a.jsonl", Scope: "project", Format: "codex", ModTime: at, From: 1}
	require.NoError(t, store.Write(log, frame(t, log, asked, turn(2, "two"), turn(3, "three"))))
	log.From, log.Agent, log.Size = 3, true, 7
	require.NoError(t, store.Append(log, frame(t, log, turn(3, "three, again"), turn(9, "four"))))

	got, turns, err := store.Read("a.jsonl")
	require.NoError(t, err)
	log.From = 1
	require.Equal(t, log, got)
	require.Equal(t, []string{"one", "two", "three, again", "four"}, texts(turns))
	head, err := store.Head(Name("a.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "a.jsonl", head.Path)
	names, err := store.Names()
	require.NoError(t, err)
	require.Equal(t, map[string]bool{Name("a.jsonl"): true}, names)
	for _, tt := range []struct {
		before time.Time
		want   int
	}{{at, 0}, {at.Add(time.Second), 1}} {
		old, err := store.Old(t.Context(), tt.before)
		require.NoError(t, err)
		require.Len(t, old, tt.want)
	}
	copied, err := store.Copy(Name("a.jsonl"), strings.ToUpper)
	require.NoError(t, err)
	other := In(t.TempDir())
	require.NoError(t, other.Write(log, copied))
	got, turns, err = other.Read("a.jsonl")
	require.NoError(t, err)
	require.Empty(t, got.File)
	require.Equal(t, []string{"ONE", "TWO", "THREE, AGAIN", "FOUR"}, texts(turns))
	require.Equal(t, "WHICH?", turns[0].Asked)

	require.NoError(t, store.Remove("a.jsonl"))
	require.Zero(t, store.Size("a.jsonl"))
}

// A frame that was cut off or spoilt is lost whole, and said; what precedes it is read.
func TestDamage(t *testing.T) {
	log := Log{Path: "a.jsonl", From: 1}
	first := frame(t, log, turn(1, "one"), turn(2, "two"))
	log.From = 2
	second := frame(t, log, turn(2, "two, again"), turn(3, "three"))
	for cut := range len(second) {
		store := In(t.TempDir())
		require.NoError(t, store.Write(log, append(first[:len(first):len(first)], second[:cut]...)))
		_, turns, err := store.Read("a.jsonl")
		require.Equal(t, []string{"one", "two"}, texts(turns), "cut after %d", cut)
		if cut > 0 {
			require.ErrorIs(t, err, ErrDamaged, "cut after %d", cut)
		}
	}
	store := In(t.TempDir())
	require.NoError(t, store.Write(log, []byte("not Zstandard")))
	_, err := store.Head(Name("a.jsonl"))
	require.ErrorIs(t, err, ErrDamaged)
	require.NoError(t, os.WriteFile(filepath.Join(store.dir, Name("b.jsonl")), first, 0o600))
	_, err = store.Head(Name("b.jsonl"))
	require.ErrorContains(t, err, "named after another document")
}

func FuzzRead(f *testing.F) {
	log := Log{Path: "a.jsonl", From: 1}
	f.Add(frame(f, log, turn(1, "one")))
	f.Fuzz(func(t *testing.T, data []byte) {
		store := In(t.TempDir())
		require.NoError(t, store.Write(log, data))
		_, _, err := store.Read(log.Path)
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
		}
	})
}

// A file of some kilobytes that unpacks to more than is read of one costs no more than that, and
// what precedes it is read.
func TestFileThatUnpacksToMuch(t *testing.T) {
	store := In(filepath.Join(t.TempDir(), "kept"))
	log := Log{Path: "a.jsonl", From: 1}
	require.NoError(t, store.Write(log, frame(t, log, turn(1, "one"))))
	log.From = 2
	require.NoError(t, store.Append(log, frame(t, log, turn(2, strings.Repeat("much ", maxLine/5+1)))))
	require.Less(t, store.Size(log.Path), int64(1<<20))
	_, turns, err := store.Read(log.Path)
	require.ErrorIs(t, err, ErrDamaged)
	require.Equal(t, []string{"one"}, texts(turns))
}

func TestFileOfManyTurns(t *testing.T) {
	store := In(filepath.Join(t.TempDir(), "kept"))
	log := Log{Path: "a.jsonl", From: 1}
	const each = 8 << 20
	long := strings.Repeat("m", each)
	require.NoError(t, store.Write(log, frame(t, log, turn(1, long))))
	for log.From = 2; log.From <= maxText/each+1; log.From++ {
		require.NoError(t, store.Append(log, frame(t, log, turn(log.From, long))))
	}
	_, turns, err := store.Read(log.Path)
	require.ErrorIs(t, err, ErrDamaged)
	require.Len(t, turns, maxText/each-1)
}

// A frame may hold more than a window of text that does not repeat, and what a newer program wrote
// is not guessed at.
func TestFrames(t *testing.T) {
	store := In(t.TempDir())
	var text strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&text, "%x ", i*2654435761)
	}
	log := Log{Path: "a.jsonl", Scope: "project", Format: "codex", From: 1}
	require.NoError(t, store.Write(log, frame(t, log, turn(1, text.String()), turn(2, "two"))))
	_, turns, err := store.Read("a.jsonl")
	require.NoError(t, err)
	require.Equal(t, []string{text.String(), "two"}, texts(turns))

	newer, err := packer()
	require.NoError(t, err)
	data := newer.EncodeAll([]byte(`{"log":{"path":"b.jsonl","from":1,"number":2}}`+"\n"), nil)
	require.NoError(t, store.Write(Log{Path: "b.jsonl"}, data))
	_, err = store.Head(Name("b.jsonl"))
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, "newer")
}
