package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMuted(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "silent")
	require.False(t, muted(mark), "there is no mark")
	require.NoError(t, os.WriteFile(mark, nil, 0o600))
	for _, tt := range []struct {
		name string
		age  time.Duration
		want bool
	}{
		{"just now", 0, true},
		{"a while ago", 2 * mute, false},
		{"in the future, since the clock was put back", -24 * time.Hour, false},
	} {
		at := time.Now().Add(-tt.age)
		require.NoError(t, os.Chtimes(mark, at, at))
		require.Equal(t, tt.want, muted(mark), tt.name)
	}
}
