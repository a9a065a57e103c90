package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// A valid ID names exactly one folder below the sessions.
func FuzzSessionID(f *testing.F) {
	for _, seed := range []string{"2026-11-21T22-38-01Z-ioi7lxfb", "..", "a/b", `a\b`, "C:", "a\x00", "a.", "…", "a\u202e", strings.Repeat("a", 201), "-", "CON"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if checkID(id) != nil {
			return
		}
		dir := t.TempDir()
		if got := filepath.Join(dir, id); filepath.Dir(got) != dir || filepath.Base(got) != id || strings.ContainsFunc(id, unicode.IsControl) {
			t.Errorf("ID %q is %q", id, got)
		}
		s, err := New(dir, id)
		require.NoError(t, err)
		require.Equal(t, id, s.ID)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		all, err := List(dir)
		require.NoError(t, err)
		require.Equal(t, []string{id}, all)
	})
}
