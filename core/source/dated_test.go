package source

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of dated files only size and time of change tell whether they changed, on any machine.
func TestDated(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.md"), []byte("# A\n"), 0o600))
	for _, isDated := range []bool{false, true} {
		found, err := NewFolder(FolderOptions{Path: dir, Workspace: dir, Dated: isDated}).List(t.Context())
		require.NoError(t, err)
		require.Len(t, found.Documents, 1)
		require.False(t, found.Documents[0].ModTime.IsZero())
		if isDated {
			require.True(t, found.Documents[0].Changed.IsZero())
		}
	}
}
