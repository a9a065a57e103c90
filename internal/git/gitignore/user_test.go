package gitignore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUserFile(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", "")
	write := func(name, text string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
	require.Equal(t, filepath.Join(home, ".config", "git", "ignore"), UserFile(home), "what git looks at if nothing is configured")
	write(".config/git/config", "[core]\nexcludesfile=~/first")
	require.Equal(t, filepath.Join(home, "first"), UserFile(home))
	write(".gitconfig", "[user]\n\texcludesFile = ~/wrong\n[core] # mine\n\tExcludesFile = \"~/my \\\"own\\\" file\" # comment\n")
	require.Equal(t, filepath.Join(home, `my "own" file`), UserFile(home), "the later file counts")
	write(".gitconfig", "[CORE] excludesfile = relative\n")
	require.Empty(t, UserFile(home), "relative to what?")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	require.NoError(t, os.Remove(filepath.Join(home, ".gitconfig")))
	require.Equal(t, filepath.Join(home, "xdg", "git", "ignore"), UserFile(home))
	t.Setenv("XDG_CONFIG_HOME", "")
	require.Empty(t, UserFile(""))
}
