package source

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden is the content of a golden file.
type golden struct {
	Format  string           `json:"format"`
	Turns   []chunker.Turn   `json:"turns"`
	Unknown []UnknownRecords `json:"unknown,omitempty"`
	Skipped map[string]int   `json:"skipped,omitempty"`
}

// The turns of each format equal its golden file.
func TestFormats(t *testing.T) {
	logs := samples(t)
	for _, log := range logs {
		name := filepath.Base(log)
		t.Run(name, func(t *testing.T) {
			f := NewFolder(FolderOptions{Path: log, Workspace: "testdata"})
			docs := list(t, f).Documents
			if len(docs) != 1 {
				t.Fatalf("List does not recognise %s", name)
			}
			doc := docs[0]
			content, err := f.Read(t.Context(), doc, Position{})
			require.NoError(t, err)
			got, err := json.MarshalIndent(golden{doc.Format, content.Turns, content.Unknown, content.Skipped}, "", "  ")
			require.NoError(t, err)
			file := filepath.Join("testdata", "golden", strings.TrimPrefix(name, ".")+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, append(got, '\n'), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			if string(got)+"\n" != string(want) {
				t.Errorf("turns of %s =\n%s\nwant those of %s; run the test with -update if they are right", name, got, file)
			}
			checkLines(t, log, doc.Format, content)
		})
	}
}

// samples are the logs in testdata.
func samples(t testing.TB) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*.json*", ".*.md", ".specstory/history/*"} {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		all = append(all, found...)
	}
	return all
}

// checkLines checks the line ranges of turns. In a document on one line, and in logs that are read
// as a whole, they number the messages.
func checkLines(t *testing.T, path, format string, content Content) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Count(string(text), "\n")
	if len(text) > 0 && text[len(text)-1] != '\n' {
		lines++
	}
	if f, _ := formatNamed(format); f.read != nil || isJSON(path) && !strings.Contains(strings.TrimSpace(string(text)), "\n") {
		lines = len(text)
	}
	before := content.From
	for i, turn := range content.Turns {
		if turn.Line < before || turn.EndLine < turn.Line || turn.EndLine > lines {
			t.Errorf("turn %d is on lines %d to %d of %d, want them to rise from %d", i, turn.Line, turn.EndLine, lines, before)
		}
		if turn.Text == "" && len(turn.Tools) == 0 {
			t.Errorf("turn %d on line %d says nothing", i, turn.Line)
		}
		before = turn.Line
	}
}
