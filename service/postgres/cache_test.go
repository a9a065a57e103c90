package postgres

import (
	"fmt"
	"math"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store/keyword"
)

// What is held and what is being read have most bytes together.
func TestCacheIsBounded(t *testing.T) {
	c := newCache(1000)
	keep := func(scope, bytes int64) {
		c.keep(scope, &held{}, &held{seen: never, bytes: bytes})
		require.LessOrEqual(t, c.bytes, c.maxBytes)
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
	r := newReading(c, "", nil, nil, 0)
	require.NoError(t, r.count(300))
	require.Equal(t, 1, c.held.Len())
	require.NoError(t, r.count(500))
	require.Zero(t, c.held.Len(), "what is read comes before what is kept")
	require.ErrorIs(t, r.count(1001), ErrMemory)
	r.end()
	require.Zero(t, c.bytes)
}

// Records count while they are read, before they are added.
func TestReadingIsBounded(t *testing.T) {
	c := newCache(10 << 20)
	r := newReading(c, "", []int64{1}, []*held{{}}, math.MaxInt)
	defer r.end()
	read := 0
	var err error
	for ; err == nil; read++ {
		err = r.record(1, keyword.Member{ID: fmt.Sprint(read)}, 1<<10)
	}
	require.ErrorIs(t, err, ErrMemory)
	require.Less(t, read, 13<<10)
	r = newReading(c, "", []int64{1}, []*held{{}}, math.MaxInt)
	defer r.end()
	for read, err = 0, nil; err == nil; read++ {
		err = r.document(1, fmt.Sprint(read), &documentState{bytes: 1 << 10})
	}
	require.ErrorIs(t, err, ErrMemory)
	require.Less(t, read, 13<<10)
	r = newReading(c, "", []int64{1}, []*held{{}}, 10)
	defer r.end()
	require.NoError(t, r.document(1, "a", &documentState{chunks: 10}))
	require.ErrorIs(t, r.document(1, "b", &documentState{chunks: 1}), errMany)
}

// What is too large together is not read again at once; what fits by itself, or without vectors,
// is.
func TestRefused(t *testing.T) {
	c := newCache(1000)
	require.ErrorIs(t, c.note([]int64{1, 2}, "m", ErrMemory), ErrMemory)
	require.True(t, c.isRefused([]int64{1, 2}, "m"))
	require.False(t, c.isRefused([]int64{1, 2}, ""))
	require.False(t, c.isRefused([]int64{1}, "m"))
	require.NoError(t, c.note([]int64{1}, "m", nil))
	require.False(t, c.isRefused([]int64{1}, "m"))
	c.refused[refusal([]int64{1, 2}, "m")] = time.Now().Add(-refusedFor)
	require.False(t, c.isRefused([]int64{1, 2}, "m"), "it may fit by now")
	require.Error(t, c.note([]int64{3}, "m", ErrMemory))
	require.Len(t, c.refused, 1, "what is over goes")
}

func TestCacheBytesFollowTheProcess(t *testing.T) {
	before := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(before)
	require.Equal(t, int64(256<<20), defaultCacheBytes())
	debug.SetMemoryLimit(8 << 30)
	require.Equal(t, int64(4<<30), defaultCacheBytes())
}
