package use

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var testTime = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

func turnOf(prompt string, paths ...string) Turn {
	var hits []Hit
	for _, path := range paths {
		hits = append(hits, Hit{ID: keyOf(path), Path: path, Source: path + "#L1", Score: 0.5, Tokens: 7})
	}
	return NewTurn(testTime, "claude-code", "s", prompt, true, hits)
}

func TestLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "use.jsonl")
	l := NewLog(file)
	turns, err := l.Turns(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Empty(t, turns)

	first, second := turnOf("which port?", "a.md", "b.md"), turnOf("and now?")
	second.At = testTime.Add(time.Minute)
	require.NoError(t, l.Note(t.Context(), first))
	require.NoError(t, l.Note(t.Context(), second))
	require.NoError(t, l.Judge(t.Context(), first.ID, []Hit{{ID: keyOf("a.md"), Used: Yes, Why: "names 5433 of it"}, {ID: keyOf("b.md"), Used: No}, {ID: "stranger", Used: Yes}}))
	require.NoError(t, l.Judge(t.Context(), first.ID, []Hit{{ID: keyOf("a.md"), Used: No}}))
	require.NoError(t, l.Judge(t.Context(), "of no turn", []Hit{{ID: keyOf("a.md"), Used: Yes}}))

	turns, err = l.Turns(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, turns, 2)
	require.Equal(t, "which port?", turns[0].Prompt)
	require.Empty(t, turns[1].Prompt, "nothing was given, so nobody needs it")
	require.Equal(t, []Hit{
		{ID: keyOf("a.md"), Path: "a.md", Source: "a.md#L1", Score: 0.5, Tokens: 7, Used: Yes, Why: "names 5433 of it"},
		{ID: keyOf("b.md"), Path: "b.md", Source: "b.md#L1", Score: 0.5, Tokens: 7, Used: No},
	}, turns[0].Hits, "what was used once stays so")
	turns, err = l.Turns(t.Context(), testTime.Add(time.Second))
	require.NoError(t, err)
	require.Len(t, turns, 1)
	found, ok, err := l.Turn(t.Context(), first.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, first.At, found.At)
	_, ok, err = l.Turn(t.Context(), "absent")
	require.NoError(t, err)
	require.False(t, ok)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

// A damaged line does not affect the others.
func TestDamagedLines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "use.jsonl")
	l := NewLog(file)
	require.NoError(t, l.Note(t.Context(), turnOf("one", "a.md")))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(data, "\x00\x00{}\n[]\n7\n{\"turn\":5}\n{\"turn\":\"half"...), 0o600))
	require.NoError(t, l.Note(t.Context(), turnOf("two", "a.md")))
	turns, err := l.Turns(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, turns, 2)
	require.Equal(t, "two", turns[1].Prompt)
}

func TestLogIsBounded(t *testing.T) {
	folder := t.TempDir()
	l := NewLog(filepath.Join(folder, "use.jsonl"))
	l.full = 10_000
	for i := range 300 {
		require.NoError(t, l.Note(t.Context(), turnOf(fmt.Sprintf("prompt %d", i), "a.md")))
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	total := int64(0)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		total += info.Size()
	}
	require.Less(t, total, int64(22_000))
	turns, err := l.Turns(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Greater(t, len(turns), 40)
	require.Equal(t, "prompt 299", turns[len(turns)-1].Prompt)
	require.NoError(t, l.Judge(t.Context(), turns[0].ID, []Hit{{ID: keyOf("a.md"), Used: Yes}}))
	judged, _, err := l.Turn(t.Context(), turns[0].ID)
	require.NoError(t, err)
	require.Equal(t, Yes, judged.Hits[0].Used, "a turn in the earlier half is judged, too")
}

func TestLogOfManyWriters(t *testing.T) {
	l := NewLog(filepath.Join(t.TempDir(), "use.jsonl"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if err := l.Note(t.Context(), turnOf("x", "a.md")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	turns, err := l.Turns(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Len(t, turns, 160)
}

func TestForget(t *testing.T) {
	file := filepath.Join(t.TempDir(), "use.jsonl")
	l := NewLog(file)
	gone, err := NewLog(filepath.Join(t.TempDir(), "absent", "use.jsonl")).Forget(t.Context(), Place{Path: "a.md"})
	require.NoError(t, err)
	require.Zero(t, gone)
	l.full = 900 // some of it is in the earlier half
	for _, turn := range []Turn{turnOf("of the document", "a.md", "b.md"), turnOf("of another", "b.md"), turnOf("is the Port\n 5432?", "c.md"), turnOf("why", "d.md")} {
		require.NoError(t, l.Note(t.Context(), turn))
		why := ""
		if turn.Prompt == "why" {
			why = "names the port is 5432 of it"
		}
		require.NoError(t, l.Judge(t.Context(), turn.ID, []Hit{{ID: turn.Hits[0].ID, Used: Yes, Why: why}}))
	}
	kept := func() (prompts []string) {
		turns, err := l.Turns(t.Context(), time.Time{})
		require.NoError(t, err)
		for _, turn := range turns {
			prompts = append(prompts, turn.Prompt)
		}
		return prompts
	}
	before := kept()
	gone, err = l.Forget(t.Context(), Place{Path: "absent.md"})
	require.NoError(t, err)
	require.Zero(t, gone)
	require.Equal(t, before, kept())
	gone, err = l.Forget(t.Context(), Place{Path: "a.md"}, "the port is 5432")
	require.NoError(t, err)
	require.Equal(t, 2, gone)
	require.Equal(t, before, kept(), "turns stay without the hits")
	turns, err := l.Turns(t.Context(), time.Time{})
	require.NoError(t, err)
	require.Equal(t, "b.md", turns[0].Hits[0].Path)
	require.Equal(t, Yes, turns[1].Hits[0].Used)
	require.Empty(t, turns[3].Hits, "its verdict has the text")
	require.Equal(t, silenceForgotten, turns[3].Silence)
	require.Contains(t, kept(), "is the Port\n 5432?", "it does not say that text")
	_, err = l.Forget(t.Context(), Place{}, "port 5432")
	require.NoError(t, err)
	for _, name := range []string{file, l.earlier()} {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NotContains(t, string(data), "5432")
		require.NotContains(t, string(data), "a.md")
	}
	require.NotContains(t, kept(), "is the Port\n 5432?")
}

func TestPlaces(t *testing.T) {
	for source, in := range map[string]bool{"a.md#L1-L4": false, "a.md#L1-L5": true, "a.md#L7": true, "a.md#L8-L9": false, "a.md": true} {
		first, last := Hit{Source: source}.cited()
		require.Equal(t, in, Place{"a.md", 5, 7}.Has("a.md", first, last), source)
		require.True(t, Place{Path: "a.md"}.Has("a.md", first, last), source)
		require.False(t, Place{"b.md", 5, 7}.Has("a.md", first, last), source)
	}
}

// NewTurn keeps a prompt only if asked, and never a secret.
func TestNewTurn(t *testing.T) {
	hits := []Hit{{ID: "a"}}
	require.Empty(t, NewTurn(testTime, "codex", "s", "which port?", false, hits).Prompt)
	require.Equal(t, "which port?", NewTurn(testTime, "codex", "s", " which port?\n", true, hits).Prompt)
	require.Contains(t, NewTurn(testTime, "codex", "s", "the password is c0rrect-horse-battery, which port?", true, hits).Prompt, "[redacted: ")
	require.LessOrEqual(t, len(NewTurn(testTime, "codex", "s", strings.Repeat("é ", 5000), true, hits).Prompt), maxPrompt+len("…"))
	require.Equal(t, keyOf("which\n port?"), keyOf(" which port? "))
	require.NotEqual(t, turnOf("x").ID, turnOf("x").ID)
}

func TestSummarise(t *testing.T) {
	a, b, c := turnOf("x", "a.md", "b.md"), turnOf("y", "a.md"), turnOf("z")
	a.Hits[0].Used, a.Hits[1].Used, b.Hits[0].Used = Yes, No, Unknown
	s := Summarise([]Turn{a, b, c}, testTime)
	require.Equal(t, Summary{
		Since: testTime, Prompts: 3, Turns: 2, Counts: Counts{Given: 3, Used: 1, Unused: 1, Unknown: 1}, Tokens: 21,
		Documents: []Document{{"a.md", Counts{2, 1, 0, 1}}, {"b.md", Counts{1, 0, 1, 0}}},
	}, s)
	share, ok := s.Share()
	require.True(t, ok)
	require.Equal(t, 0.5, share)
	_, ok = Summarise(nil, testTime).Share()
	require.False(t, ok)
}

func FuzzLog(f *testing.F) {
	line, err := json.Marshal(turnOf("x", "a.md"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(line))
	f.Add(`{"turn":"t","hits":[{"id":"a"}]}` + "\n" + `{"of":"t","hits":[{"id":"a","used":"yes"}]}`)
	f.Add("{\"of\":\"t\"}\n\n\x00\n{\"turn\":")
	l := NewLog(filepath.Join(f.TempDir(), "use.jsonl"))
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(l.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := l.Turns(context.Background(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Note(context.Background(), turnOf("added", "b.md")); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Forget(context.Background(), Place{Path: "absent"}); err != nil {
			t.Fatal(err)
		}
		after, err := l.Turns(context.Background(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if len(after) != len(before)+1 {
			t.Errorf("%d turns after %d", len(after), len(before))
		}
	})
}
