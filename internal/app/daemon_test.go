package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One late answer does not keep hooks from asking the daemon, and one in time makes up for all.
func TestLateness(t *testing.T) {
	file := filepath.Join(t.TempDir(), "silent")
	require.Zero(t, readLateness(file).mute(time.Now()), "it was never late")
	readLateness(file).note()
	require.Zero(t, readLateness(file).mute(time.Now()), "once is not enough")
	for times, want := range map[int]time.Duration{2: time.Second, 3: 2 * time.Second, 5: 8 * time.Second, 9: maxMute, 1000: maxMute} {
		l := lateness{file: file, times: times - 1}
		l.note()
		l = readLateness(file)
		require.Equal(t, times, l.times)
		require.Equal(t, want, l.mute(l.last))
		require.Zero(t, l.mute(l.last.Add(want)))
		require.Zero(t, l.mute(l.last.Add(-24*time.Hour)), "the clock was put back")
	}
	readLateness(file).forget()
	require.NoFileExists(t, file)

	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, 1, readLateness(file).times, "as earlier releases wrote it")
}
