package source

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/cputime"
)

// Files too large for memory are reported, not opened. Logs of lines are of any size.
func TestHugeFiles(t *testing.T) {
	dir := tree(t, map[string]string{"small.md": "# small\n", "chat.jsonl": chatLine, "chat.json": "[" + chatLine + "]"})
	for name, size := range map[string]int64{"huge.md": 200 << 20, "chat.jsonl": 300 << 20, "chat.json": 65 << 20} {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o644)
		require.NoError(t, err)
		if strings.HasPrefix(name, "chat") { // no hole in the lines that show the format
			_, err = file.Seek(0, io.SeekEnd)
			require.NoError(t, err)
			_, err = file.WriteString(strings.Repeat(" ", headBytes))
			require.NoError(t, err)
		}
		require.NoError(t, file.Truncate(size)) // sparse
		require.NoError(t, file.Close())
	}
	found := list(t, NewFolder(FolderOptions{Path: dir, Workspace: dir}))
	sameStrings(t, "documents", pathsOf(found), []string{"chat.jsonl", "small.md"})
	sameStrings(t, "skipped", skips(found), []string{
		"chat.json: 65 MB, larger than the limit of 64 MB",
		"huge.md: 200 MB, larger than the limit of 32 MB",
	})
	for _, skip := range found.Skipped {
		require.True(t, skip.TooLarge, skip.Path)
	}
}

// List skips a folder only if too deep for the system.
func TestDeepFolders(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "", strings.Repeat("d/", 400) + "b.md": ""})
	inside, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer inside.Close()
	require.NoError(t, inside.MkdirAll(strings.Repeat(strings.Repeat("x", 200)+"/", 25), 0o755))
	found := list(t, NewFolder(FolderOptions{Path: dir, Workspace: dir}))
	sameStrings(t, "documents", pathsOf(found), []string{"a.md", strings.Repeat("d/", 400) + "b.md"})
	if len(found.Skipped) != 1 || !strings.Contains(found.Skipped[0].Reason, "folder cannot be read: ") {
		t.Errorf("Skipped = %.300v, want the folder that cannot be read", found.Skipped)
	}
}

// List opens only new and changed logs.
func TestListRemembersFormats(t *testing.T) {
	dir := tree(t, map[string]string{"a.jsonl": chatLine, "b.jsonl": `{"a":1}` + "\n"})
	f := NewFolder(FolderOptions{Path: dir, Workspace: dir})
	list(t, f)
	facts := f.known[filepath.Join(dir, "a.jsonl")]
	facts.format = "remembered"
	f.known[filepath.Join(dir, "a.jsonl")] = facts
	if got := list(t, f).Documents[0].Format; got != "remembered" {
		t.Errorf("format of an unchanged log = %q, want the remembered one", got)
	}
	write(t, filepath.Join(dir, "a.jsonl"), chatLine+chatLine)
	write(t, filepath.Join(dir, "b.jsonl"), chatLine)
	found := list(t, f)
	if got := found.Documents[0].Format; got != "openai" {
		t.Errorf("format of a changed log = %q, want openai", got)
	}
	sameStrings(t, "documents", pathsOf(found), []string{"a.jsonl", "b.jsonl"})
	require.NoError(t, os.Remove(filepath.Join(dir, "b.jsonl")))
	list(t, f)
	if len(f.known) != 1 {
		t.Errorf("%d files are remembered, want only the one that is left", len(f.known))
	}
}

// A folder may be listed and read concurrently.
func TestConcurrentUse(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("%d.md", i)] = "# x\x00"
		files[fmt.Sprintf("%d.jsonl", i)] = chatLine
	}
	dir := tree(t, files)
	f := NewFolder(FolderOptions{Path: dir, Workspace: dir})
	done := make(chan error, 8)
	for range cap(done) {
		go func() {
			found, err := f.List(t.Context())
			for _, doc := range found.Documents {
				f.Read(t.Context(), doc, Position{})
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Errorf("List: %v", err)
		}
	}
}

// A turn of many pieces takes linear time.
func TestTurnOfManyPieces(t *testing.T) {
	log := func(pieces int) string {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		var text strings.Builder
		for i := range pieces {
			fmt.Fprintf(&text, `{"type":"assistant","sessionId":"s","uuid":"u","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"the port of staging number %d is open to all, and so are the others"}]}}`+"\n", i)
		}
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
		return path
	}
	took := func(pieces int) time.Duration {
		path := log(pieces)
		return cputime.Least(3, func() {
			turns := readLog(t, path, "claude-code", Position{}).Turns
			require.Len(t, turns, 1)
			require.Equal(t, pieces, strings.Count(turns[0].Text, "the port of staging"))
		})
	}
	if a, b := took(2_000), took(20_000); b > 25*a {
		t.Errorf("2,000 pieces take %v, 20,000 take %v", a, b)
	}
}
