package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnreviewed(t *testing.T) {
	s, err := New(t.TempDir(), "s")
	require.NoError(t, err)
	say := func(texts ...string) {
		for _, text := range texts {
			_, err := s.Append(t.Context(), Message{Role: "user", Content: text}, AppendOptions{})
			require.NoError(t, err)
		}
	}
	unread := func(most int64) (cited []string) {
		t.Helper()
		said, to, err := s.Unreviewed(t.Context(), most, 1<<20)
		require.NoError(t, err)
		for _, one := range said {
			cited = append(cited, one.Content+" "+one.Citation)
		}
		require.NoError(t, s.MarkReviewed(to))
		return cited
	}
	require.Empty(t, unread(1<<20))
	say("one", "two")
	require.Equal(t, []string{"one s/messages.jsonl#L1", "two s/messages.jsonl#L2"}, unread(1<<20))
	require.Empty(t, unread(1<<20))
	say("three")
	file := filepath.Join(s.Dir, messagesName)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("no JSON\n" + `{"role":"user","content":"half`)
	require.NoError(t, err)
	require.Equal(t, []string{"three s/messages.jsonl#L3"}, unread(1<<20))
	_, err = f.WriteString(` a line"}` + "\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Equal(t, []string{"half a line s/messages.jsonl#L5"}, unread(1<<20))
	say(strings.Repeat("x", 1000), strings.Repeat("y", 1000), "last")
	require.Equal(t, []string{"last s/messages.jsonl#L8"}, unread(100), "of the newest bytes only, with its line")
	require.NoError(t, os.Remove(file))
	say("anew")
	require.Equal(t, []string{"anew s/messages.jsonl#L1"}, unread(1<<20), "the log was rotated")
	say(strings.Repeat("z", 1000))
	require.Empty(t, unread(10), "a longer line is passed over")
	say("and on")
	require.Len(t, unread(1<<20), 1)

	say("a", strings.Repeat("b", 500), "c")
	for _, want := range []string{"a", strings.Repeat("b", 500), "c", ""} {
		said, to, err := s.Unreviewed(t.Context(), 1<<20, 100)
		require.NoError(t, err)
		require.NoError(t, s.MarkReviewed(to))
		if want == "" {
			require.Empty(t, said)
			continue
		}
		require.Len(t, said, 1, "piece by piece, a long line whole")
		require.Equal(t, want, said[0].Content)
	}
}

func FuzzUnreviewed(f *testing.F) {
	f.Add(`{"role":"user","content":"x"}`+"\n", `{"offset":3,"line":1}`, int64(10), uint16(3))
	f.Add("\n\n", `{"offset":-1}`, int64(0), uint16(0))
	f.Fuzz(func(t *testing.T, log, mark string, most int64, piece uint16) {
		s, err := New(t.TempDir(), "s")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, messagesName), []byte(log), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(s.Dir, reviewedName), []byte(mark), 0o600))
		for steps := 0; ; steps++ {
			before := s.reviewed()
			said, to, err := s.Unreviewed(t.Context(), most, int64(piece)+1)
			require.NoError(t, err)
			require.LessOrEqual(t, to.Offset, int64(len(log)))
			require.NoError(t, s.MarkReviewed(to))
			if to == before {
				require.Empty(t, said)
				break
			}
			require.LessOrEqual(t, steps, len(log)+1, "it comes to an end")
		}
	})
}
