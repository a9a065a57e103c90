package filetime

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFit(t *testing.T) {
	for _, at := range []time.Time{
		{}, time.Unix(0, 0), time.Unix(-1<<62, 0), time.Unix(1<<55, 0), time.Date(2262, 5, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999, time.FixedZone("", -12*3600)), time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 12*3600)),
	} {
		got := fit(at)
		require.Equal(t, at.IsZero(), got.IsZero())
		_, err := json.Marshal(got.UTC())
		require.NoError(t, err, at)
	}
	now := time.Now()
	require.Equal(t, now, fit(now))
}

func TestDoubtful(t *testing.T) {
	now := time.Now()
	for after, want := range map[time.Duration]bool{0: true, 99 * time.Millisecond: true, -99 * time.Millisecond: true, 101 * time.Millisecond: false, -time.Hour: false} {
		require.Equal(t, want, Doubtful(now, now.Add(after)), after)
	}
}

// A write is noticed even if the writer restores the time of modification.
func TestChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(file, []byte("a"), 0o600))
	before, err := os.Stat(file)
	require.NoError(t, err)
	if Changed(before).IsZero() {
		t.Skip("this system does not keep the time of changes")
	}
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, os.WriteFile(file, []byte("b"), 0o600))
	require.NoError(t, os.Chtimes(file, before.ModTime(), before.ModTime()))
	after, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, Modified(before), Modified(after))
	require.NotEqual(t, Changed(before), Changed(after))
}
