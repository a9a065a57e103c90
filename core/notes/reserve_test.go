package notes

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Message logs that are put aside overwrite nothing, whatever the clock says: names are taken once.
func TestLogsPutAsideOverwriteNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "messages-20260101T000000.000000000Z.jsonl")
	seen := map[string]bool{}
	for range 5 {
		free, err := reserve(path)
		require.NoError(t, err)
		require.False(t, seen[free])
		seen[free] = true
		require.NoError(t, os.WriteFile(free, []byte(free), 0o600))
	}
	for name := range seen {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, name, string(text))
	}
}
