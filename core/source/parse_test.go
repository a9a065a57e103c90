package source

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a folder reads of a file, Parse reads of its bytes.
func TestParseReadsAsAFolderDoes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("# Rules\n\nBe kind.\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "wide.md"), []byte("\xff\xfeT\x00e\x00a\x00"), 0o600))
	folder := NewFolder(FolderOptions{Path: dir, Workspace: dir})
	listing, err := folder.List(t.Context())
	require.NoError(t, err)
	kinds := map[string]int{}
	for _, listed := range listing.Documents {
		if f, _ := formatNamed(listed.Format); f.beside != nil {
			continue // files beside it say more of it
		}
		want, err := folder.Read(t.Context(), listed, Position{})
		require.NoError(t, err)
		text, err := os.ReadFile(listed.File)
		require.NoError(t, err)
		doc, got, err := Parse(t.Context(), Document{Path: listed.Path, Scope: listed.Scope, ModTime: listed.ModTime}, text)
		require.NoError(t, err, listed.Path)
		listed.File, listed.Changed = "", time.Time{}
		require.Equal(t, listed, doc)
		require.Equal(t, want, got, listed.Path)
		kinds[doc.Format]++
	}
	require.Greater(t, len(kinds), 10, "formats")
}

func TestParseLeavesOut(t *testing.T) {
	for path, text := range map[string]string{
		"package.json": `{"name": "x", "version": "1"}`, "data.jsonl": `{"a": 1}` + "\n", "empty.jsonl": "", "main.go": "package x", "log.jsonl.zst": "x", "all.zip": "PK",
	} {
		_, _, err := Parse(t.Context(), Document{Path: path}, []byte(text))
		require.ErrorIs(t, err, ErrNoDocument, path)
	}
	_, _, err := Parse(t.Context(), Document{Path: "a.md"}, []byte("\x7fELF\x00\x01\x02\x00\x00\x00\x00"))
	require.Error(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, _, err = Parse(ctx, Document{Path: "a.md"}, []byte("# A"))
	require.ErrorIs(t, err, context.Canceled)
}

// A text from anywhere must not ask which files there are.
func TestParseLooksAtNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	parent := filepath.Join(dir, "parent.jsonl")
	require.NoError(t, os.WriteFile(parent, []byte("{}\n"), 0o600))
	log := `{"type":"session","id":"own","timestamp":"2026-02-01T10:00:00Z","parentSession":"` + parent + `"}` + "\n" +
		`{"type":"message","id":"a","timestamp":"2026-01-01T10:00:00Z","message":{"role":"user","content":"The tea is in the kitchen."}}` + "\n"
	read := func(parse func() (Content, error)) int {
		content, err := parse()
		require.NoError(t, err)
		return len(content.Turns)
	}
	require.NoError(t, os.WriteFile("pi.jsonl", []byte(log), 0o600))
	folder := NewFolder(FolderOptions{Path: filepath.Join(dir, "pi.jsonl")})
	listing, err := folder.List(t.Context())
	require.NoError(t, err)
	require.Len(t, listing.Documents, 1)
	require.Equal(t, "pi", listing.Documents[0].Format)
	require.Equal(t, 0, read(func() (Content, error) { return folder.Read(t.Context(), listing.Documents[0], Position{}) }), "a copy, whose log is there")
	require.Equal(t, 1, read(func() (Content, error) {
		_, content, err := Parse(t.Context(), Document{Path: "pi.jsonl"}, []byte(log))
		return content, err
	}))
}
