package core_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store"
)

// filesWith returns the files of the index that contain a word.
func (m *memory) filesWith(word string) (files []string) {
	m.t.Helper()
	require.NoError(m.t, filepath.WalkDir(m.options.Folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), word) {
			files = append(files, path)
		}
		return err
	}))
	return files
}

// After forgetting, no file of the index holds the text, nor does one of an earlier generation.
func TestForgottenTextLeavesTheDisk(t *testing.T) {
	for name, forget := range map[string]func(mem *memory, m *core.Manager) error{
		"a document": func(mem *memory, m *core.Manager) error {
			_, err := m.Forget(mem.t.Context(), chatLog)
			return err
		},
		"documents": func(mem *memory, m *core.Manager) error { return m.ForgetDocuments(mem.t.Context(), chatLog) },
		"a turn": func(mem *memory, m *core.Manager) error {
			_, err := m.ForgetLines(mem.t.Context(), chatLog, 1, 1)
			return err
		},
		"without an embedder": func(mem *memory, m *core.Manager) error {
			mem.embedder.fail.Store(&embed.ErrUnavailable)
			mem.write("new.md", "# New\n\nThis waits for the embedder, and with it all that follows.\n")
			_, err := m.Forget(mem.t.Context(), chatLog)
			return err
		},
		"a log that is gone": func(mem *memory, m *core.Manager) error {
			mem.remove("chat.jsonl")
			index(mem.t, m)
			_, err := m.Forget(mem.t.Context(), chatLog)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			mem := keeping(t)
			mem.remembering()
			mem.write("chat.jsonl", agentLog("user: Always call the harbour pilot Quillfeather before you deploy.", "assistant: I will call the pilot."))
			m, reader := mem.open(), mem.open()
			index(t, m)
			_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
			require.NoError(t, err)
			require.NotEmpty(t, search(t, reader, "staging port").Hits)
			require.Greater(t, len(mem.filesWith("Quillfeather")), 4, "records of both indexes and digests, twice")

			require.NoError(t, forget(mem, m))
			require.Empty(t, mem.filesWith("Quillfeather"))
			require.Empty(t, mem.filesWith("quillfeather"))
			mem.embedder.fail.Store(nil)
			require.True(t, found(t, reader, "staging port", "5433"))
			require.True(t, found(t, m, "staging port", "5433"))
		})
	}
}

// stubbornWords cannot be purged while full is set.
type stubbornWords struct {
	store.KeywordIndex
	full *atomic.Bool
}

func (x stubbornWords) Purge(ctx context.Context) error {
	if x.full.Load() {
		return errors.New("the disk is full")
	}
	return x.KeywordIndex.Purge(ctx)
}

// If an error keeps the text on disk, that is reported, and the next run removes it.
func TestPurgeIsRepeated(t *testing.T) {
	mem := newMemory(t)
	mem.remembering()
	full := &atomic.Bool{}
	open := mem.options.Engine.Keywords
	mem.options.Engine.Keywords = func(ctx context.Context, dir string) (store.KeywordIndex, error) {
		words, err := open(ctx, dir)
		return stubbornWords{words, full}, err
	}
	mem.write("pilot.md", "# Pilot\n\nThe harbour pilot is called Quillfeather.\n")
	m := mem.open()
	index(t, m)
	full.Store(true)
	_, err := m.Forget(t.Context(), "notes/pilot.md")
	require.ErrorContains(t, err, "still in files of the index until 'memcore index' can remove it: the disk is full")
	require.False(t, found(t, m, "Quillfeather", "Quillfeather"))
	require.Contains(t, index(t, m).Warnings[0], "the disk is full")
	require.NotEmpty(t, mem.filesWith("Quillfeather"))
	full.Store(false)
	require.Empty(t, index(t, m).Warnings)
	require.Empty(t, mem.filesWith("Quillfeather"))
}
