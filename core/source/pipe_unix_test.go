//go:build unix

package source

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe is not opened: opening waits for a writer.
func TestPipesAndSocketsAreNotOpened(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "", "becomes.md": "x"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.jsonl"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, ".gitignore"), 0o600))
	socket, err := net.Listen("unix", filepath.Join(dir, "s.md"))
	require.NoError(t, err)
	t.Cleanup(func() { socket.Close() })

	f := NewFolder(FolderOptions{Path: dir, Workspace: dir})
	found := list(t, f)
	sameStrings(t, "documents", pathsOf(found), []string{"a.md", "becomes.md"})
	sameStrings(t, "skipped", skips(found), []string{"pipe.jsonl: it is a named pipe, not a file",
		"pipe.md: it is a named pipe, not a file", "s.md: it is a socket, not a file"})

	becomes := found.Documents[1]
	require.NoError(t, os.Remove(becomes.File))
	require.NoError(t, syscall.Mkfifo(becomes.File, 0o600))
	if _, err := f.Read(t.Context(), becomes, Position{}); err == nil || !strings.Contains(err.Error(), "is a named pipe") {
		t.Errorf("Read of what has become a pipe: error %v, want one that says so", err)
	}
	if _, err := NewFolder(FolderOptions{Path: becomes.File}).List(t.Context()); err == nil || !strings.Contains(err.Error(), "is a named pipe") {
		t.Errorf("List of a pipe: error %v, want one that says so", err)
	}
}
