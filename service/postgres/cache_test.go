package postgres

import (
	"fmt"
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store/keyword"
)

// What is held and what is being read have most bytes together.
func TestCacheIsBounded(t *testing.T) {
	c := newCache(1000)
	keep := func(scope, bytes int64) {
		c.keep(scope, &held{}, &held{seen: never, bytes: bytes})
		require.LessOrEqual(t, c.bytes, c.most)
	}
	keep(1, 400)
	keep(2, 500)
	c.of([]int64{1}, "")
	keep(3, 300)
	require.Equal(t, []int64{1, 3}, c.held.Keys(), "2 was asked for the longest ago")
	keep(4, 1001)
	require.Zero(t, c.held.Len(), "one that is too large is not kept")
	require.Zero(t, c.bytes)

	keep(5, 600)
	small, large := newReading(c, "", nil, nil), newReading(c, "", nil, nil)
	require.NoError(t, small.count(300))
	require.Equal(t, 1, c.held.Len())
	require.NoError(t, large.count(600))
	require.Zero(t, c.held.Len(), "what is read comes before what is kept")
	require.NoError(t, small.count(500), "there is too much, but another has more of it")
	require.ErrorIs(t, large.count(601), errNoRoom)
	c.end(large)
	require.NoError(t, small.count(1000))
	require.ErrorIs(t, small.count(1001), ErrMemory)
	c.end(small)
	require.Zero(t, c.bytes)
	require.Empty(t, c.readings)
}

// Records count while they are read, before they are added.
func TestReadingIsBounded(t *testing.T) {
	c := newCache(10 << 20)
	r := newReading(c, "", []int64{1}, []*held{{}})
	defer c.end(r)
	read := 0
	var err error
	for ; err == nil; read++ {
		err = r.record(1, keyword.Member{ID: fmt.Sprint(read)}, 1<<10)
	}
	require.ErrorIs(t, err, ErrMemory)
	require.Less(t, read, 13<<10)
	r = newReading(c, "", []int64{1}, []*held{{}})
	defer c.end(r)
	for read, err = 0, nil; err == nil; read++ {
		err = r.document(1, 1, fmt.Sprint(read), &documentState{bytes: 1 << 10})
	}
	require.ErrorIs(t, err, ErrMemory)
	require.Less(t, read, 13<<10)
}

func TestCacheBytesFollowTheProcess(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	require.Equal(t, int64(256<<20), defaultCacheBytes())
	debug.SetMemoryLimit(8 << 30)
	require.Equal(t, int64(4<<30), defaultCacheBytes())
}
