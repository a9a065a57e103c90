//go:build unix

package userdir

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMarks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the system's owner can give files away")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // others have to look into it
	start := filepath.Join(dir, "a", "b")
	marker := filepath.Join(dir, ".git")
	require.NoError(t, os.MkdirAll(start, 0o755))
	require.NoError(t, os.Mkdir(marker, 0o755))
	for _, tt := range []struct {
		name             string
		user             int // who asks
		marker, start    int // owners
		from             string
		counts, isPassed bool
	}{
		{"the user's", 12345, 12345, 23456, start, true, false},
		{"root's", 12345, 0, 12345, start, true, false},
		{"a stranger's", 12345, 23456, 12345, start, false, true},
		{"that of the folder's owner", 12345, 23456, 23456, start, true, false},
		{"root in a mounted folder", 0, 23456, 23456, start, true, false},
		{"root below a stranger's", 0, 23456, 0, start, false, true},
		{"a stranger's, in a folder that is not there yet", 12345, 23456, 12345, filepath.Join(start, "x", "y"), false, true},
		{"that of the owner of the folder above one that is not there yet", 12345, 23456, 23456, filepath.Join(start, "x", "y"), true, false},
		{"in the folder itself", 12345, 23456, 12345, dir, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.NoError(t, os.Lchown(marker, tt.marker, -1))
			require.NoError(t, os.Chown(start, tt.start, -1))
			as(t, tt.user)
			counts, passed := Marks(dir, ".git", tt.from)
			require.Equal(t, tt.counts, counts)
			require.Equal(t, tt.isPassed, passed != "", passed)
			if passed != "" {
				require.Equal(t, marker+", which belongs to user 23456", passed)
			}
		})
	}
	counts, passed := Marks(dir, ".beans", start)
	require.False(t, counts)
	require.Empty(t, passed, "what is not there was not passed over")
	require.NoError(t, os.Remove(marker))
	require.NoError(t, os.Symlink("/", marker))
	require.NoError(t, os.Lchown(marker, 23456, -1))
	require.NoError(t, os.Chown(start, 0, -1))
	counts, _ = Marks(dir, ".git", start)
	require.False(t, counts, "a link belongs to who made it, whatever it leads to")
}

// as runs the rest of the test as another user.
func as(t *testing.T, user int) {
	t.Helper()
	require.NoError(t, syscall.Setreuid(-1, user))
	t.Cleanup(func() { require.NoError(t, syscall.Setreuid(-1, 0)) })
}
