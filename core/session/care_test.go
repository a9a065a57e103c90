package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

// Delete takes a session with all its files, and nothing else, whatever it is called with.
func TestDelete(t *testing.T) {
	root := t.TempDir()
	sessions := filepath.Join(root, "sessions")
	for _, id := range []string{"one", "two"} {
		s, err := New(sessions, id)
		require.NoError(t, err)
		_, err = s.Append(t.Context(), Message{Role: "user", Content: "hello"}, AppendOptions{})
		require.NoError(t, err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(sessions, "file"), []byte("mine"), 0o600))
	for _, id := range []string{"none", "file"} {
		require.ErrorIs(t, Delete(sessions, id), ErrNoSession, id)
	}
	require.ErrorIs(t, Delete(filepath.Join(root, "nowhere"), "one"), ErrNoSession)
	for _, id := range []string{"", ".", "..", "../sessions", "a/b"} {
		require.Error(t, Delete(sessions, id), id)
	}
	require.NoError(t, Delete(sessions, "one"))
	ids, err := List(sessions)
	require.NoError(t, err)
	require.Equal(t, []string{"two"}, ids)
	left, err := os.ReadDir(sessions)
	require.NoError(t, err)
	require.Len(t, left, 2, "the other session and the file")
}

// Infos names what it cannot read, and an agent's log that is gone costs nothing else.
func TestInfos(t *testing.T) {
	all, err := Infos(filepath.Join(t.TempDir(), "none"))
	require.NoError(t, err)
	require.Empty(t, all)

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Infos(file)
	require.ErrorContains(t, err, "file")

	sessions := t.TempDir()
	s, err := New(sessions, "one")
	require.NoError(t, err)
	require.NoError(t, s.SetLog(filepath.Join(sessions, "gone.jsonl")))
	require.NoError(t, os.WriteFile(s.OverviewPath(), []byte("# Working Memory\n\n## Current Task\n\nOiling.\n"), 0o600))
	all, err = Infos(sessions)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.True(t, all[0].Overview)
	require.Zero(t, all[0].Messages)
}

// What an agent's log no longer has is read of what was noted here; a line that is longer than what
// is wanted, or that is being written, is passed over.
func TestUnreviewedOfAnAgent(t *testing.T) {
	s, err := New(t.TempDir(), "s")
	require.NoError(t, err)
	_, err = s.Append(t.Context(), Message{Role: "user", Content: "noted"}, AppendOptions{})
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "rollout.jsonl")
	require.NoError(t, s.SetLog(log))
	said, _, err := s.Unreviewed(t.Context(), 1<<20, 1<<20)
	require.NoError(t, err)
	require.Len(t, said, 1)
	require.Equal(t, "noted", said[0].Content)

	line := func(text string) string {
		return `{"type":"user","sessionId":"s","cwd":"/p","timestamp":"2026-11-27T13:04:28Z","message":{"role":"user","content":"` + text + `"}}`
	}
	long := line(strings.Repeat("x", 200<<10)) + "\n"
	require.NoError(t, os.WriteFile(log, []byte(long+line("go on")+"\n"), 0o600))
	said, _, err = s.Unreviewed(t.Context(), 1<<10, 1<<20)
	require.NoError(t, err)
	require.Len(t, said, 1)
	require.Equal(t, "go on", said[0].Content)
	require.NoError(t, os.WriteFile(log, []byte(strings.TrimSuffix(long, "\n")), 0o600))
	said, at, err := s.Unreviewed(t.Context(), 1<<10, 1<<20)
	require.NoError(t, err)
	require.Empty(t, said)
	require.Zero(t, at, "it is read once it is whole")
	require.NoError(t, os.Remove(log))
	require.NoError(t, os.Mkdir(log, 0o700))
	_, _, err = s.Unreviewed(t.Context(), 1<<10, 1<<20)
	require.Error(t, err, "a folder in the log's place")
}

// A text that has no room for what is left of it is blanked whole, so that no line moves.
func TestForgetWithoutRoom(t *testing.T) {
	sessions := t.TempDir()
	s, err := New(sessions, "one")
	require.NoError(t, err)
	_, err = s.Append(t.Context(), Message{Role: "user", Content: "pin 4711"}, AppendOptions{})
	require.NoError(t, err)
	file := filepath.Join(s.Dir, messagesName)
	before, err := os.Stat(file)
	require.NoError(t, err)
	require.NoError(t, Forget(sessions, func(turns []chunker.Turn) int {
		turns[0].Text = strings.Repeat("longer than before ", 9)
		return 1
	}))
	after, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(after), "4711")
	require.Equal(t, before.Size(), int64(len(after)))
	said, err := s.Messages(t.Context())
	require.NoError(t, err)
	require.Empty(t, said)
}

// A line that is being written is no message yet.
func TestMessagesThatAreBeingWritten(t *testing.T) {
	s, err := New(t.TempDir(), "s")
	require.NoError(t, err)
	_, err = s.Append(t.Context(), Message{Role: "user", Content: "whole"}, AppendOptions{})
	require.NoError(t, err)
	f, err := os.OpenFile(filepath.Join(s.Dir, messagesName), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(`{"role":"user","content":"half"}`)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	said, err := s.Messages(t.Context())
	require.NoError(t, err)
	require.Len(t, said, 1)
}

// Where nothing of an overview fits, nothing is given: half a note would say nothing.
func TestExcerptWithoutRoom(t *testing.T) {
	text := strings.Repeat("## Heading\n\nText of a section.\n\n", 20)
	for room := range 60 {
		if got := Excerpt(text, "overview.md", room); len([]rune(got)) > room {
			t.Errorf("Excerpt in %d characters has %d: %q", room, len([]rune(got)), got)
		}
	}
}
