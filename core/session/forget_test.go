package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

// What is forgotten leaves all logs of all sessions, and nothing else changes: neither the places
// of lines nor the time of the last use.
func TestForget(t *testing.T) {
	sessions := t.TempDir()
	ctx := t.Context()
	var logs []string
	for _, id := range []string{"one", "two"} {
		s, err := New(sessions, id)
		require.NoError(t, err)
		for _, text := range []string{"the codename is \"zanzibar\" <é>", "good\n\nzanzibar again\n\nbye", "the ferry leaves at eight"} {
			_, err := s.Append(ctx, Message{Role: "user", Content: text}, AppendOptions{})
			require.NoError(t, err)
		}
		logs = append(logs, filepath.Join(s.Dir, messagesName))
	}
	rotated := filepath.Join(sessions, "two", "messages-20261101T000000.000000000Z-aaaaaa.jsonl")
	require.NoError(t, os.Rename(logs[1], rotated))
	logs[1] = rotated
	old := time.Now().Add(-time.Hour).Truncate(time.Second)
	sizes := map[string]int64{}
	for _, log := range logs {
		require.NoError(t, os.Chtimes(log, old, old))
		info, err := os.Stat(log)
		require.NoError(t, err)
		sizes[log] = info.Size()
	}
	err := Forget(sessions, func(turns []chunker.Turn) (hidden int) {
		for i, turn := range turns {
			switch {
			case strings.HasPrefix(turn.Text, "the codename"):
				turns[i].Text = ""
				hidden++
			case strings.Contains(turn.Text, "zanzibar"):
				turns[i].Text = strings.Replace(turn.Text, "zanzibar again", "", 1)
				hidden++
			}
		}
		return hidden
	})
	require.NoError(t, err)
	for _, log := range logs {
		data, err := os.ReadFile(log)
		require.NoError(t, err)
		require.NotContains(t, string(data), "zanzibar")
		said, info, err := readMessages(log)
		require.NoError(t, err)
		require.Equal(t, sizes[log], info.Size())
		require.WithinDuration(t, old, info.ModTime(), time.Second)
		require.Len(t, said, 2)
		require.Equal(t, filepath.Base(log)+"#L2", said[0].Citation)
		require.Equal(t, "good\n\n\n\nbye", strings.TrimRight(said[0].Content, " "))
		require.Equal(t, "the ferry leaves at eight", said[1].Content)
	}
	require.NoError(t, Forget(filepath.Join(sessions, "none"), func([]chunker.Turn) int { return 1 }))
}
