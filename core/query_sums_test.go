package core_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

// Sums follow the index.
func TestSums(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	sums, err := m.Sums(t.Context())
	require.NoError(t, err)
	require.Zero(t, sums.Documents, "nothing is indexed yet")
	index(t, m)
	before, err := m.Sums(t.Context())
	require.NoError(t, err)
	require.Empty(t, before.AboutUser)
	mem.write("facts/user.md", "# User\n\n- Ada prefers tabs.\n")
	index(t, m)
	before, err = m.Sums(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"notes/facts/user.md"}, before.AboutUser)
	mem.write("fähre.md", "# Fähre\n\nDie Fähre fährt am Morgen von der Brücke ab, und sie ist nicht pünktlich.\n")
	last := time.Date(2026, 11, 17, 23, 30, 0, 0, time.Local)
	require.NoError(t, os.Chtimes(filepath.Join(mem.notes, "fähre.md"), last, last))
	index(t, m)

	after, err := m.Sums(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.Documents+1, after.Documents)
	require.Equal(t, before.Chunks+1, after.Chunks)
	require.Equal(t, []core.Sum{{Name: source.KindMarkdown, Documents: after.Documents, Chunks: after.Chunks}}, after.Kinds)
	require.Equal(t, []core.Sum{{Name: "notes", Documents: after.Documents, Chunks: after.Chunks}}, after.Sources)

	languages, err := m.Languages(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"de": 1, "en": after.Chunks - 1}, languages)

	some, found, err := m.Documents(t.Context(), core.DocumentsOptions{Find: "fähre", Source: "notes", Kind: source.KindMarkdown})
	require.NoError(t, err)
	require.Equal(t, 1, found)
	require.Equal(t, "notes/fähre.md", some[0].Path)
	require.NoError(t, m.Close())
	_, err = m.Sums(t.Context())
	require.ErrorIs(t, err, core.ErrClosed)
}

// A slow source lists nothing until its context ends, once slow is set.
type slowSource struct {
	source.Source
	slow   atomic.Bool
	listed atomic.Int64
}

func (s *slowSource) List(ctx context.Context) (source.Listing, error) {
	s.listed.Add(1)
	if s.slow.Load() {
		<-ctx.Done()
		return source.Listing{}, ctx.Err()
	}
	return s.Source.List(ctx)
}

// A page does not wait for many files, and says so. While a watch knows that nothing has changed,
// no file is read.
func TestStatusWithin(t *testing.T) {
	mem := newMemory(t)
	slow := &slowSource{Source: mem.options.Sources[0]}
	mem.options.Sources = []source.Source{slow}
	m := mem.open()
	index(t, m)
	slow.slow.Store(true)
	status, err := m.StatusWithin(t.Context(), time.Millisecond)
	require.NoError(t, err)
	require.True(t, status.Uncompared)
	require.Nil(t, status.Stale)
	require.Empty(t, status.Problems)
	require.Equal(t, core.StateReady, status.State)
	require.NotZero(t, status.Chunks)

	ended, stop := context.WithCancel(t.Context())
	stop()
	_, err = m.StatusWithin(ended, time.Minute)
	require.ErrorIs(t, err, context.Canceled)

	slow.slow.Store(false)
	mem.write("new.md", "# New\n\nokapi\n")
	status, err = m.StatusWithin(t.Context(), time.Minute)
	require.NoError(t, err)
	require.False(t, status.Uncompared)
	require.Equal(t, 1, status.Stale.Files)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	indexed := make(chan struct{}, 100)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = m.Watch(ctx, core.WatchOptions{Every: time.Hour, Indexed: func(core.IndexReport, error) { indexed <- struct{}{} }})
	}()
	<-indexed
	require.Eventually(t, func() bool {
		before := slow.listed.Load()
		status, err := m.StatusWithin(t.Context(), time.Minute)
		return err == nil && status.Stale == nil && slow.listed.Load() == before
	}, time.Minute, 10*time.Millisecond)
	stop()
	<-gone
}
