package cache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

func TestExchange(t *testing.T) {
	inner := newFake()
	here, there := open(t, inner, t.TempDir(), Options{}), open(t, newFake(), t.TempDir(), Options{})
	from, to := NewExchange(here), NewExchange(there)
	require.Equal(t, from.Name(), to.Name())
	none, err := from.Export(10)
	require.NoError(t, err)
	require.Zero(t, none.Count)

	texts := numbered(5)
	want, err := here.Embed(t.Context(), embed.Document, texts)
	require.NoError(t, err)
	first, err := from.Export(3)
	require.NoError(t, err)
	second, err := from.Export(3)
	require.NoError(t, err)
	require.Equal(t, []int{3, 2}, []int{first.Count, second.Count})
	from.Exported(first)
	from.Again()
	again, err := from.Export(10)
	require.NoError(t, err)
	require.Equal(t, second, again, "what was not exported comes again")

	damaged := Records{Bytes: append([]byte(nil), second.Bytes...), Dimension: second.Dimension}
	damaged.Bytes[0]++
	require.NoError(t, to.Import(first.And(damaged)))
	require.NoError(t, to.Import(Records{Bytes: second.Bytes, Dimension: second.Dimension}))
	require.Error(t, to.Import(Records{Bytes: first.Bytes[1:], Dimension: first.Dimension}))
	require.Error(t, to.Import(Records{Bytes: first.Bytes}))
	require.Equal(t, want, there.Kept(texts))
	back, err := to.Export(10)
	require.NoError(t, err)
	require.Zero(t, back.Count, "what came from others is not sent back")
}
