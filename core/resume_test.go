package core_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/keyword"
)

// A log that is read on gives the same records as one that is read at once, neighbours and all.
func TestALogReadOnIsAsReadAtOnce(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	var log strings.Builder
	for i := range 30 {
		fmt.Fprintf(&log, `{"type":"user","sessionId":"s","timestamp":"2026-01-01T10:00:%02dZ","message":{"role":"user","content":"turn %d of the talk"}}`+"\n", i, i)
		if i%7 == 5 {
			mem.write("chat.jsonl", log.String())
			index(t, m)
		}
	}
	mem.write("chat.jsonl", log.String())
	index(t, m)
	on := recordsIn(t, filepath.Join(mem.options.Folder, "1", "keywords"), "notes/chat.jsonl")
	_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	once := recordsIn(t, filepath.Join(mem.options.Folder, "2", "keywords"), "notes/chat.jsonl")
	require.Len(t, once, 30)
	require.Equal(t, once, on)
}

func recordsIn(t *testing.T, folder, path string) []store.Record {
	t.Helper()
	ix, err := keyword.Open(t.Context(), folder)
	require.NoError(t, err)
	defer ix.Close()
	records, err := ix.Document(t.Context(), path)
	require.NoError(t, err)
	return records
}
