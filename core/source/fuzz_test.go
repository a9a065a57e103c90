package source

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzFormat feeds bytes to a reader, as lines and document, at once and in parts.
func fuzzFormat(f *testing.F, format, ext string) {
	for name := range logFixtures {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(text, uint16(len(text)/2))
	}
	for _, name := range []string{"openai.json", "gemini-cli.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(text, uint16(7))
	}
	path := filepath.Join(f.TempDir(), "log"+ext)
	f.Fuzz(func(t *testing.T, text []byte, cut uint16) {
		part := text[:min(int(cut), len(text))]
		require.NoError(t, os.WriteFile(path, part, 0o644))
		begun, err := tryRead(t, path, format, Position{})
		if err == nil {
			checkLines(t, path, begun)
		}
		require.NoError(t, os.WriteFile(path, text, 0o644))
		content, err := tryRead(t, path, format, begun.Resume)
		if err != nil {
			return // not text
		}
		checkLines(t, path, content)
		if content.From > 1 && content.From != begun.Resume.Line+1 {
			t.Errorf("From = %d after line %d", content.From, begun.Resume.Line)
		}
		sniff(t.Context(), bufio.NewReaderSize(bytes.NewReader(text), headBytes), ext == ".json", true)
	})
}

func tryRead(t *testing.T, path, format string, from Position) (Content, error) {
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	info, err := file.Stat()
	require.NoError(t, err)
	return readConversation(context.Background(), file, info.Size(), Document{File: path, Format: format}, from, maxHeld)
}

func FuzzOpenAI(f *testing.F)         { fuzzFormat(f, "openai", ".jsonl") }
func FuzzOpenAIDocument(f *testing.F) { fuzzFormat(f, "openai", ".json") }
func FuzzClaudeCode(f *testing.F)     { fuzzFormat(f, "claude-code", ".jsonl") }
func FuzzCodex(f *testing.F)          { fuzzFormat(f, "codex", ".jsonl") }
func FuzzGemini(f *testing.F)         { fuzzFormat(f, "gemini-cli", ".jsonl") }
func FuzzGeminiDocument(f *testing.F) { fuzzFormat(f, "gemini-cli", ".json") }
func FuzzPi(f *testing.F)             { fuzzFormat(f, "pi", ".jsonl") }
