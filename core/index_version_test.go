package core_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// Queries look at the files again once the version of the documents is another.
func TestVersionOfDocuments(t *testing.T) {
	m := newMemory(t)
	m.write("a.md", "# Kettle\n\nThe kettle is descaled monthly.\n")
	version := int64(0)
	m.options.Freshness = 10 * time.Second
	m.options.Version = func() int64 { return version }
	memory := m.open()
	index(t, memory)
	finds := func(question, path string) bool {
		result, err := memory.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{})
		require.NoError(t, err)
		return slices.ContainsFunc(result.Hits, func(h core.MemoryHit) bool { return h.Path == "notes/"+path })
	}
	require.True(t, finds("how often is the kettle descaled?", "a.md"))
	m.write("b.md", "# Pangolin\n\nThe pangolin rota is kept by Ines.\n")
	require.False(t, finds("who keeps the pangolin rota?", "b.md"), "of the same version")
	version++
	require.True(t, finds("who keeps the pangolin rota?", "b.md"))
}
