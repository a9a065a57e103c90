package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

func TestFrequencies(t *testing.T) {
	mem := newMemory(t)
	mem.write("ferry.md", "# Ferry\n\nThe zebra takes the ferry.\n")
	m := mem.open()
	holders, chunks, err := m.Frequencies(t.Context(), []string{"zebra", "ferry"})
	require.NoError(t, err)
	require.Equal(t, []int{0, 0}, holders, "nothing is indexed yet")
	require.Zero(t, chunks)
	index(t, m)
	holders, chunks, err = m.Frequencies(t.Context(), []string{"zebra", "xylophone"})
	require.NoError(t, err)
	require.Equal(t, []int{1, 0}, holders)
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, status.Chunks, chunks)
	require.NoError(t, m.Close())
	_, _, err = m.Frequencies(t.Context(), []string{"zebra"})
	require.ErrorIs(t, err, core.ErrClosed)
}
