package chunker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

// BenchmarkMarkdown cuts 5 MB of runbooks, decisions and code.
func BenchmarkMarkdown(b *testing.B) {
	files, err := filepath.Glob("testdata/*.md")
	require.NoError(b, err)
	require.NotEmpty(b, files)
	var page strings.Builder
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(b, err)
		page.WriteString(strings.TrimPrefix(string(src), "---\n") + "\n")
	}
	src := []byte(strings.Repeat(page.String(), 5<<20/page.Len()))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		chunker.Markdown("notes.md", src, chunker.Options{})
	}
}

// BenchmarkConversation cuts 10,000 turns of an agent's log.
func BenchmarkConversation(b *testing.B) {
	var turns []chunker.Turn
	for len(turns) < 10_000 {
		turns = append(turns, conversation()...)
	}
	b.ReportAllocs()
	for b.Loop() {
		chunker.Conversation("log.jsonl", turns, chunker.Options{})
	}
	b.ReportMetric(float64(len(turns))*float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}
