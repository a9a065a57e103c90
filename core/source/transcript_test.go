package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTranscript(t *testing.T) {
	for name, last := range map[string]string{"claude-code.jsonl": "assistant", "codex.jsonl": "assistant", "gemini-cli.jsonl": "gemini", "gemini-cli.json": "assistant", "openai.jsonl": "assistant"} {
		file := filepath.Join("testdata", name)
		all, err := Transcript(t.Context(), file, 1<<20)
		require.NoError(t, err, name)
		require.NotEmpty(t, all, name)
		if last == "assistant" {
			info, err := os.Stat(file)
			require.NoError(t, err)
			if strings.HasSuffix(name, ".json") {
				_, err = Transcript(t.Context(), file, info.Size()-1)
				require.ErrorContains(t, err, "more than", name)
				continue
			}
			for most := int64(0); most < info.Size(); most += 61 {
				end, err := Transcript(t.Context(), file, most)
				require.NoError(t, err, name)
				require.LessOrEqual(t, len(end), len(all)+1, "%s: %d bytes", name, most)
			}
		}
	}

	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, `{"type":"user","sessionId":"s","uuid":"u%d","message":{"role":"user","content":"prompt %d"}}`+"\n", i, i)
	}
	file := filepath.Join(t.TempDir(), "long.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(long.String()), 0o600))
	end, err := Transcript(t.Context(), file, 1000)
	require.NoError(t, err)
	require.Less(t, len(end), 15)
	require.Equal(t, "prompt 4999", end[len(end)-1].Text)
	ended, stop := context.WithCancel(t.Context())
	stop()
	_, err = Transcript(ended, file, 1<<30)
	require.ErrorIs(t, err, context.Canceled)
}

// The path of a transcript comes from an agent and may be wrong.
func TestTranscriptsThatAreNone(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	turn := `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"x"}}` + "\n"
	secret := write(".env.jsonl", turn)
	link := filepath.Join(folder, "link.jsonl")
	require.NoError(t, os.Symlink(secret, link))
	for _, tt := range []struct{ file, want string }{
		{filepath.Join(folder, "absent.jsonl"), "no such file|cannot find"},
		{write("notes.md", turn), "no log has the extension"},
		{write("garbage.jsonl", "not JSON\n"), "no known conversation format"},
		{write("empty.jsonl", ""), "no known conversation format"},
		{secret, "it is never opened"},
		{link, "it is never opened"},
		{"", "read transcript"},
	} {
		_, err := Transcript(t.Context(), tt.file, 1<<20)
		require.Error(t, err, tt.file)
		require.Regexp(t, tt.want, err.Error())
	}
	require.NoError(t, os.Mkdir(filepath.Join(folder, "folder.jsonl"), 0o700))
	_, err := Transcript(t.Context(), filepath.Join(folder, "folder.jsonl"), 1<<20)
	require.Error(t, err)
}
