package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A session whose agent keeps a log is read from that, as it grows.
func TestMessagesOfAnAgentsLog(t *testing.T) {
	s, err := New(t.TempDir(), "claude-code-abc")
	require.NoError(t, err)
	_, err = s.Append(t.Context(), Message{Role: "user", Content: "before the log was known"}, AppendOptions{})
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "abc.jsonl")
	require.Empty(t, s.Log())
	require.NoError(t, s.SetLog(log))
	require.NoError(t, s.SetLog(log))
	require.Equal(t, log, s.Log())
	texts := func() (all []string) {
		said, err := s.Messages(t.Context())
		require.NoError(t, err)
		for _, m := range said {
			all = append(all, m.Role+" "+m.Content+" "+m.Citation)
		}
		return all
	}
	own := "user before the log was known messages.jsonl#L1"
	require.Equal(t, []string{own}, texts(), "the agent has not begun it")
	unreviewed := func(size int64) (all []string) {
		said, to, err := s.Unreviewed(t.Context(), 1<<20, size)
		require.NoError(t, err)
		require.NoError(t, s.MarkReviewed(to))
		for _, m := range said {
			all = append(all, m.Content+" "+m.Citation)
		}
		return all
	}
	turn := func(n int, role, text string) string {
		return fmt.Sprintf(`{"type":%q,"sessionId":"abc","uuid":"u%d","timestamp":"2026-11-22T09:00:00Z","message":{"role":%q,"id":"m%d","content":%q}}`+"\n", role, n, role, n, text)
	}
	grow := func(text string) {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	grow(turn(1, "user", "please use tofu") + turn(2, "assistant", "I do; the password is c0rrect-horse-battery"))
	grow(`{"type":"assistant","sessionId":"abc","uuid":"u3","message":{"role":"assistant","id":"m3","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}` + "\n")
	require.Equal(t, []string{own, "user please use tofu abc.jsonl#L1", "assistant I do; the password is [redacted: password] abc.jsonl#L2"}, texts())
	require.Equal(t, []string{"please use tofu claude-code-abc/abc.jsonl#L1"}, unreviewed(100), "piece by piece")
	require.Len(t, unreviewed(1<<20), 1)
	require.Empty(t, unreviewed(1<<20))
	grow(turn(4, "user", "thanks") + `{"type":"user"`)
	require.Equal(t, []string{"thanks claude-code-abc/abc.jsonl#L4"}, unreviewed(1<<20))
	require.Empty(t, unreviewed(1<<20))

	then := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(log, then, then))
	info, err := s.Info()
	require.NoError(t, err)
	require.Equal(t, log, info.Log)
	require.WithinDuration(t, then, info.Used, time.Minute)
	require.NoError(t, os.WriteFile(log, []byte("no log\n"), 0o600))
	_, err = s.Messages(t.Context())
	require.ErrorContains(t, err, "no known conversation format")
}

// A log that is one JSON document is read again when it has grown.
func TestUnreviewedOfADocument(t *testing.T) {
	s, err := New(t.TempDir(), "gemini-cli-abc")
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "session-abc.json")
	require.NoError(t, s.SetLog(log))
	for n := 1; n < 3; n++ {
		var turns []string
		for i := range n {
			turns = append(turns, fmt.Sprintf(`{"type":"user","content":"prompt %d"}`, i))
		}
		require.NoError(t, os.WriteFile(log, []byte(`{"sessionId":"abc","projectHash":"h","messages":[`+strings.Join(turns, ",")+`]}`), 0o600))
		said, to, err := s.Unreviewed(t.Context(), 1<<20, 1)
		require.NoError(t, err)
		require.Len(t, said, n)
		require.NoError(t, s.MarkReviewed(to))
		said, _, err = s.Unreviewed(t.Context(), 1<<20, 1)
		require.NoError(t, err)
		require.Empty(t, said)
	}
}

// Logs rotated at the same moment keep all messages.
func TestLogsPutAsideOverwriteNothing(t *testing.T) {
	s, err := New(t.TempDir(), "s")
	require.NoError(t, err)
	s.maxLog = 1
	for i := range 50 {
		_, err := s.Append(t.Context(), Message{Role: "user", Content: fmt.Sprint(i)}, AppendOptions{})
		require.NoError(t, err)
	}
	all, err := s.Messages(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 50)
}
