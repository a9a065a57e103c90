package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// Queries look at the files again once the version of the documents is another.
func TestVersionOfDocuments(t *testing.T) {
	m := newMemory(t)
	m.write("a.md", "# Kettle\n\nThe kettle is descaled monthly.\n")
	version := int64(0)
	m.options.Version = func() int64 { return version }
	memory := m.open()
	index(t, memory)
	finds := func(question string) bool {
		result, err := memory.RetrieveRelevant(t.Context(), question, core.RetrieveOptions{})
		require.NoError(t, err)
		return len(result.Hits) > 0
	}
	require.True(t, finds("how often is the kettle descaled?"))
	m.write("b.md", "# Pangolin\n\nThe pangolin rota is kept by Ines.\n")
	require.False(t, finds("who keeps the pangolin rota?"), "of the same version")
	version++
	require.True(t, finds("who keeps the pangolin rota?"))
}
