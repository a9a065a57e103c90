package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An event during a call leads to another call; calls do not overlap.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	var heard atomic.Int64
	w := New(Options{Quiet: 10 * time.Millisecond, Longest: time.Second, Most: 10, Every: time.Hour, Heard: func() { heard.Add(1) }})
	defer w.Close()
	more := w.Watch([]string{dir, filepath.Join(dir, "not", "yet")})
	require.True(t, more)
	more = w.Watch([]string{dir})
	require.False(t, more)
	var running, calls atomic.Int64
	looks := make(chan struct{}, 100)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	release := make(chan struct{})
	go func() {
		ended <- w.Run(ctx, func() error {
			if running.Add(1) > 1 {
				t.Error("two at once")
			}
			defer running.Add(-1)
			if calls.Add(1) == 1 {
				<-release
			}
			looks <- struct{}{}
			return nil
		})
	}()
	write := func(name string) { require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644)) }
	write("a.md")
	require.Eventually(t, func() bool { return calls.Load() == 1 }, time.Minute, time.Millisecond)
	before := heard.Load()
	write("b.md")
	require.Eventually(t, func() bool { return heard.Load() > before }, time.Minute, time.Millisecond, "it hears while it works")
	close(release)
	<-looks
	<-looks
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestRunEnds(t *testing.T) {
	w := New(Options{Every: 5 * time.Millisecond})
	defer w.Close()
	failed := errors.New("failed")
	require.ErrorIs(t, w.Run(t.Context(), func() error { return failed }), failed, "it reports at intervals without events")
	require.Equal(t, filepath.Dir(t.TempDir()), existing(filepath.Join(filepath.Dir(t.TempDir()), "none", "at", "all")))
}

// The number of watched folders is bounded.
func TestMost(t *testing.T) {
	dir := t.TempDir()
	var folders []string
	for _, name := range []string{"a", "b", "c"} {
		folders = append(folders, filepath.Join(dir, name))
		require.NoError(t, os.Mkdir(folders[len(folders)-1], 0o755))
	}
	w := New(Options{Most: 2})
	defer w.Close()
	w.Watch(folders)
	require.Len(t, w.watched, 2)
	require.ErrorContains(t, w.Problem(), "2 of 3 folders are watched")
	w.Watch(folders[:1])
	require.LessOrEqual(t, len(w.watched), 1)
	require.NoError(t, w.Problem(), "all that are wanted are watched")
}

// If the system refuses to watch, there are reports at intervals.
func TestNothingIsWatched(t *testing.T) {
	w := New(Options{Every: 5 * time.Millisecond})
	require.NoError(t, w.Close())
	w.notify, w.never = nil, limitOf(syscall.EMFILE, syscall.EMFILE, "of a test")
	require.False(t, w.Watch([]string{t.TempDir()}))
	require.ErrorContains(t, w.Problem(), "the system's limit is reached (of a test)")
	ctx, stop := context.WithCancel(t.Context())
	looks := 0
	require.ErrorIs(t, w.Run(ctx, func() error {
		if looks++; looks == 3 {
			stop()
		}
		return nil
	}), context.Canceled)
	require.NoError(t, w.Close())
}
