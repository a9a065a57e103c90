package userdir

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStateIsNotInTheCache(t *testing.T) {
	home := t.TempDir()
	for key, value := range map[string]string{"HOME": home, "LocalAppData": home, "XDG_CACHE_HOME": "", "XDG_STATE_HOME": ""} {
		t.Setenv(key, value)
	}
	cache, err := Cache()
	require.NoError(t, err)
	state, err := State()
	require.NoError(t, err)
	for _, dir := range []string{cache, state} {
		require.True(t, strings.HasPrefix(dir, home+string(filepath.Separator)), dir)
	}
	between, err := filepath.Rel(cache, state)
	require.NoError(t, err)
	require.False(t, filepath.IsLocal(between), "%s is in %s", state, cache)
	if runtime.GOOS != "linux" {
		return
	}
	require.Equal(t, filepath.Join(home, ".local", "state", "memcore"), state)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "kept"))
	state, err = State()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(home, "kept", "memcore"), state)
	t.Setenv("XDG_STATE_HOME", "kept")
	_, err = State()
	require.ErrorContains(t, err, "want an absolute path")
}
