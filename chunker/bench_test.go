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

// BenchmarkSession cuts 10,000 turns of an agent at work.
func BenchmarkSession(b *testing.B) {
	var turns []chunker.Turn
	size := 0
	for len(turns) < 10_000 {
		turns = append(turns, log("user: the worker stops, why?\n\n2026-05-01 09:00:00 ERROR worker failed to start", "assistant: Let me look at the queue.",
			"tool: grep -r close", "assistant: "+cause, "user: no, never use sleep in tests, pass a fake clock instead",
			"assistant: Done.\n\n- the clock is passed to the worker, which has no other\n- `make test` is green\n\n```go\n"+strings.Repeat("x := 1\n", 40)+"```")...)
	}
	for _, t := range turns {
		size += len(t.Text)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		chunker.Session("log.jsonl", turns, "", chunker.Options{})
	}
	b.ReportMetric(float64(len(turns))*float64(b.N)/b.Elapsed().Seconds(), "turns/s")
}
