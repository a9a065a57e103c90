package core_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/filetime"
)

// New text with the old size and time is read: a file was restored, or the clock set back.
func TestSameSizeAndTimeOtherContent(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	log := func(port string) string {
		line := `{"type":"user","sessionId":"s","timestamp":"2026-01-01T10:00:00Z","message":{"role":"user","content":"remember that the zeppelin lands at port ` + port + `"}}` + "\n"
		return line + strings.Repeat(`{"type":"user","sessionId":"s","timestamp":"2026-01-01T10:00:01Z","message":{"role":"user","content":"and so on and on"}}`+"\n", 20)
	}
	mem.write("chat.jsonl", log("1111"))
	index(t, m)
	for _, tt := range []struct{ file, text, query, want string }{
		{"staging.md", "# Staging\n\n## Database\n\nThe staging postgres listens on port 7777.\n\n## Cache\n\nRedis of staging listens on 6390.\n", "staging postgres port", "7777"},
		{"chat.jsonl", log("2222"), "zeppelin lands port", "2222"},
	} {
		path := filepath.Join(mem.notes, tt.file)
		before, err := os.Stat(path)
		require.NoError(t, err)
		if filetime.Changed(before).IsZero() {
			t.Skip("this system does not tell when a file was changed")
		}
		require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o644))
		require.NoError(t, os.Chtimes(path, before.ModTime(), before.ModTime()))
		after, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, before.Size(), after.Size())
		index(t, m)
		result := search(t, m, tt.query)
		require.NotEmpty(t, result.Hits)
		require.Contains(t, result.Hits[0].Text, tt.want)
	}
}

// Times from 1677 to 20000 are kept, without a second reading.
func TestFilesFromAnyTime(t *testing.T) {
	for _, year := range []int{1677, 1970, 2026, 2262, 2263, 20000} {
		mem := newMemory(t)
		at := time.Date(year, 7, 1, 12, 0, 0, 0, time.UTC)
		path := filepath.Join(mem.notes, "staging.md")
		if err := os.Chtimes(path, at, at); err != nil {
			t.Logf("this file system has no year %d: %v", year, err)
			continue
		}
		m := mem.open()
		index(t, m)
		report := index(t, m)
		require.Equal(t, 3, report.Unchanged, year)
		result, err := m.RetrieveRelevant(t.Context(), "which port does the staging postgres listen on?", core.RetrieveOptions{MinSimilarity: -1})
		require.NoError(t, err)
		require.NotEmpty(t, result.Hits, year)
		for _, hit := range result.Hits {
			require.GreaterOrEqual(t, hit.Score, 0.0)
			require.LessOrEqual(t, hit.Score, 1.0)
		}
		require.NoError(t, m.Close())

		m = mem.open() // the manifest can be read again
		require.Zero(t, index(t, m).Changed)
	}
}
