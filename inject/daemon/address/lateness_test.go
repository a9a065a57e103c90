package address

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One answer without a sign of life does not keep hooks from asking the daemon, nor do some late
// ones of a daemon that works. One in time makes up for all.
func TestLateness(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "silent")
	require.Zero(t, LatenessIn(folder).Mute(time.Now()), "it was never late")
	LatenessIn(folder).Note(Silent)
	for range Silent - 1 {
		LatenessIn(folder).Note(Working)
	}
	require.Zero(t, LatenessIn(folder).Mute(time.Now()), "once is not enough")
	LatenessIn(folder).Note(Working)
	require.Positive(t, LatenessIn(folder).Mute(time.Now()))
	for times, want := range map[int]time.Duration{2: time.Second, 3: 2 * time.Second, 5: 8 * time.Second, 9: maxMute, 1000: maxMute} {
		l := Lateness{file: file, Times: (times - 1) * Silent}
		l.Note(Silent)
		l = LatenessIn(folder)
		require.Equal(t, times*Silent, l.Times)
		require.Equal(t, want, l.Mute(l.last))
		require.Zero(t, l.Mute(l.last.Add(want)))
		require.Zero(t, l.Mute(l.last.Add(-24*time.Hour)), "the clock was put back")
	}
	LatenessIn(folder).Forget()
	require.NoFileExists(t, file)

	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, Silent, LatenessIn(folder).Times, "a file that a full disk left empty")
}
