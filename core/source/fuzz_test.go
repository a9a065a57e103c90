package source

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzFormats feeds bytes to the reader of each format, as lines and as a document, at once and in
// parts.
func FuzzFormats(f *testing.F) {
	for _, sample := range samples(f) {
		text, err := os.ReadFile(sample)
		require.NoError(f, err)
		name := sniff(f.Context(), bufio.NewReaderSize(bytes.NewReader(text), headBytes), sample, false).format
		i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
		require.GreaterOrEqual(f, i, 0, sample)
		f.Add(text, uint16(len(text)/2), uint8(i), isJSON(sample))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, cut uint16, which uint8, document bool) {
		format := formats[int(which)%len(formats)].name
		path := filepath.Join(dir, "log.jsonl")
		if document {
			path = filepath.Join(dir, "log.json")
		}
		part := text[:min(int(cut), len(text))]
		require.NoError(t, os.WriteFile(path, part, 0o644))
		begun, err := tryRead(t, path, format, Position{})
		if err == nil {
			checkLines(t, path, format, begun)
		}
		require.NoError(t, os.WriteFile(path, text, 0o644))
		content, err := tryRead(t, path, format, begun.Resume)
		if err != nil {
			return // not text
		}
		checkLines(t, path, format, content)
		if content.From > 1 && content.From != begun.Resume.Line+1 {
			t.Errorf("From = %d after line %d", content.From, begun.Resume.Line)
		}
		sniff(t.Context(), bufio.NewReaderSize(bytes.NewReader(text), headBytes), path, true)
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
