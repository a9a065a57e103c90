package source

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An archive is read as it was sent, in all its files, and only if it is named.
func TestExportArchive(t *testing.T) {
	log, err := os.ReadFile(filepath.Join("testdata", "chatgpt.json"))
	require.NoError(t, err)
	dir := tree(t, map[string]string{"conversations.json": string(log)})
	path := filepath.Join(dir, "export.zip")
	file, err := os.Create(path)
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	for name, text := range map[string]string{
		"chat.html": "<p>", "user.json": "{}", "conversations-001.json": strings.ReplaceAll(string(log), "conv-1", "conv-2"), "conversations-000.json": string(log),
	} {
		w, err := archive.Create(name)
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())

	found := list(t, NewFolder(FolderOptions{Path: dir}))
	require.Empty(t, found.Documents)
	require.Len(t, found.Skipped, 1)
	require.Contains(t, found.Skipped[0].Reason, "name the file")

	f := NewFolder(FolderOptions{Path: path})
	doc := list(t, f).Documents[0]
	require.Equal(t, "chatgpt", doc.Format)
	content, err := f.Read(t.Context(), doc, Position{})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a conversation without a current branch": 2}, content.Skipped)
	alone := NewFolder(FolderOptions{Path: filepath.Join(dir, "conversations.json")})
	once, err := alone.Read(t.Context(), list(t, alone).Documents[0], Position{})
	require.NoError(t, err)
	require.Len(t, content.Turns, 2*len(once.Turns))
	require.Equal(t, "conv-1", content.Turns[0].Session)
	require.Equal(t, "conv-2", content.Turns[len(once.Turns)].Session)
	for i, turn := range content.Turns {
		require.Equal(t, i+1, turn.Line)
	}
}

func TestBrokenArchive(t *testing.T) {
	dir := tree(t, map[string]string{"a.zip": "PK no archive", "empty.zip": ""})
	for _, name := range []string{"a.zip", "empty.zip"} {
		found := list(t, NewFolder(FolderOptions{Path: filepath.Join(dir, name)}))
		require.Empty(t, found.Documents)
		require.Len(t, found.Skipped, 1)
	}
}
