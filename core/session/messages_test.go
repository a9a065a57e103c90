package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUserMessages(t *testing.T) {
	s, err := New(t.TempDir(), "s")
	require.NoError(t, err)
	count := func(want int) {
		t.Helper()
		n, err := s.UserMessages()
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	count(0)
	for _, m := range []Message{{Role: "user", Content: "a"}, {Role: "assistant", Content: `{"role":"user","content":"x"}`}, {Role: "user", Content: strings.Repeat("a long paste ", 20_000)}, {Role: "tool", Content: "b"}, {Role: "user", Content: "c"}} {
		_, err := s.Append(t.Context(), m, AppendOptions{})
		require.NoError(t, err)
	}
	count(3)
	file := filepath.Join(s.Dir, messagesName)
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(whole, `{"role":"user","content":"torn`...), 0o600))
	count(4)
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
