package storetest

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/store"
)

// TestObjects tests the contract of store.Objects. open opens the same ones each time, none at
// first.
func TestObjects(t *testing.T, open func(t *testing.T) store.Objects) {
	all := open(t)
	names := func(folder string) (names []string) {
		for object, err := range all.List(t.Context(), folder) {
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), object.Changed, time.Minute)
			names = append(names, object.Name)
		}
		return names
	}
	t.Run("none", func(t *testing.T) {
		_, err := all.Get(t.Context(), "a/b")
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, _, err = all.Fetch(t.Context(), "a/b", "x")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.NoError(t, all.Remove(t.Context(), "a/b"))
		require.Empty(t, names("a"))
	})
	t.Run("put, list, remove", func(t *testing.T) {
		for name, text := range map[string]string{"a/b": "one", "a/c/d": "two", "ab/c": "three", "a/e": ""} {
			require.NoError(t, all.Put(t.Context(), name, []byte("before")))
			require.NoError(t, all.Put(t.Context(), name, []byte(text)))
			data, err := all.Get(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, text, string(data))
		}
		require.Equal(t, []string{"a/b", "a/c/d", "a/e"}, names("a"))
		for range all.List(t.Context(), "a") {
			break
		}
		require.NoError(t, all.Remove(t.Context(), "a/b"))
		require.Equal(t, []string{"a/c/d", "a/e"}, names("a"))
		left, err := all.RemoveAll(t.Context(), "a")
		require.NoError(t, err)
		require.Zero(t, left)
		_, err = all.Get(t.Context(), "a/c/d")
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.Equal(t, []string{"ab/c"}, names("ab"))
	})
	t.Run("tags", func(t *testing.T) {
		_, err := all.Replace(t.Context(), "r/x", []byte("1"), "nobody")
		require.ErrorIs(t, err, store.ErrBehind)
		first, err := all.Replace(t.Context(), "r/x", []byte("1"), "")
		require.NoError(t, err)
		_, err = all.Replace(t.Context(), "r/x", []byte("2"), "")
		require.ErrorIs(t, err, store.ErrBehind)
		second, err := all.Replace(t.Context(), "r/x", []byte("2"), first)
		require.NoError(t, err)
		require.NotEqual(t, first, second)
		_, err = all.Replace(t.Context(), "r/x", []byte("3"), first)
		require.ErrorIs(t, err, store.ErrBehind)

		for _, known := range []string{"", first, "nobody"} {
			data, tag, err := all.Fetch(t.Context(), "r/x", known)
			require.NoError(t, err)
			require.Equal(t, second, tag)
			require.Equal(t, "2", string(data))
		}
		data, tag, err := all.Fetch(t.Context(), "r/x", second)
		require.NoError(t, err)
		require.Equal(t, second, tag)
		require.Empty(t, data)
	})
	t.Run("of those who replace a tag at once, one wins", func(t *testing.T) { replaceAtOnce(t, open) })
	t.Run("more than a page", func(t *testing.T) {
		const many = 1100
		var writers sync.WaitGroup
		for w := range 8 {
			writers.Go(func() {
				for i := w; i < many; i += 8 {
					if err := all.Put(t.Context(), fmt.Sprintf("many/%04d", i), nil); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		writers.Wait()
		found := names("many")
		require.Len(t, found, many)
		require.True(t, slices.IsSorted(found))
	})
}

func replaceAtOnce(t *testing.T, open func(t *testing.T) store.Objects) {
	tag := ""
	for round := range 5 {
		var won atomic.Int32
		var next atomic.Value
		var writers sync.WaitGroup
		for i := range 4 {
			writers.Go(func() {
				made, err := open(t).Replace(t.Context(), "race", fmt.Appendf(nil, "%d-%d", round, i), tag)
				if err == nil {
					won.Add(1)
					next.Store(made)
				} else if !errors.Is(err, store.ErrBehind) {
					t.Errorf("replace: %v", err)
				}
			})
		}
		writers.Wait()
		require.EqualValues(t, 1, won.Load())
		tag, _ = next.Load().(string)
		_, has, err := open(t).Fetch(t.Context(), "race", "")
		require.NoError(t, err)
		require.Equal(t, tag, has)
	}
}
