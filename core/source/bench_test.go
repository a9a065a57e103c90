package source

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyFiles has 1,000 documents, 100 of them logs, and other files.
func manyFiles(b *testing.B) string {
	files := map[string]string{".gitignore": "*.log\n/build/\nnode_modules/\n**/tmp/*\n"}
	for i := range 900 {
		files[fmt.Sprintf("docs/%d/note-%d.md", i%30, i)] = "# Note\n\nSome text.\n"
	}
	for i := range 100 {
		files[fmt.Sprintf("chats/chat-%d.jsonl", i)] = strings.Repeat(chatLine, 50)
	}
	for i := range 500 {
		files[fmt.Sprintf("src/%d/file-%d.go", i%20, i)] = "package x\n"
		files[fmt.Sprintf("src/%d/fixture-%d.json", i%20, i)] = `{"type":"fixture","n":` + strings.Repeat(`[1,2,3],"k":`, 1) + `0}`
	}
	return tree(b, files)
}

func BenchmarkListUnchanged1000(b *testing.B) {
	dir := manyFiles(b)
	f := NewFolder(FolderOptions{Path: dir, Workspace: dir})
	require.Len(b, list(b, f).Documents, 1000)
	for b.Loop() {
		list(b, f)
	}
}

// BenchmarkListFirst1000 measures the first List of a process.
func BenchmarkListFirst1000(b *testing.B) {
	dir := manyFiles(b)
	for b.Loop() {
		require.Len(b, list(b, NewFolder(FolderOptions{Path: dir, Workspace: dir})).Documents, 1000)
	}
}

func BenchmarkRead20MB(b *testing.B) {
	for name, format := range logFixtures {
		b.Run(strings.TrimSuffix(name, ".jsonl"), func(b *testing.B) {
			line, err := os.ReadFile(filepath.Join("testdata", name))
			require.NoError(b, err)
			if line[len(line)-1] != '\n' {
				line = append(line, '\n')
			}
			text := bytes.Repeat(line, 20<<20/len(line))
			path := filepath.Join(b.TempDir(), "log.jsonl")
			require.NoError(b, os.WriteFile(path, text, 0o644))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				readLog(b, path, format, Position{})
			}
		})
	}
}

// BenchmarkReadOn measures reading a large log that has grown by a turn.
func BenchmarkReadOn(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log.jsonl")
	require.NoError(b, os.WriteFile(path, bytes.Repeat([]byte(chatLine), 20<<20/len(chatLine)), 0o644))
	at := readLog(b, path, "openai", Position{}).Resume
	for b.Loop() {
		readLog(b, path, "openai", at)
	}
}
