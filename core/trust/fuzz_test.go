package trust

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/jsonfile"
)

// Decisions trust only the folders that they name, and below.
func FuzzStore(f *testing.F) {
	for _, seed := range []string{
		`{"folders":{"/srv/x":{"trusted":true,"at":"2026-01-01T00:00:00Z"}}}`, `{"folders":{"":{"trusted":true}}}`, `{"folders":{".":{"trusted":true}}}`,
		`{"folders":{"..":{"trusted":true}}}`, `{"folders":{"/":{"trusted":true}}}`, `{"Folders":{"/srv//x/../..":{"Trusted":true}}}`, `{"format":7}`, `[]`, `null`, "{", "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		file, folder := filepath.Join(dir, "trust.json"), filepath.Join(dir, "some", "folder")
		require.NoError(t, os.MkdirAll(folder, 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		s := Open(file)
		covering, err := s.Covering(folder)
		var named document
		if json.Unmarshal([]byte(text), &named) != nil {
			named = document{}
		}
		above := map[string]bool{}
		for name, e := range named.Folders {
			above[filepath.Clean(name)] = e.Trusted
		}
		switch {
		case err != nil:
			require.True(t, errors.Is(err, jsonfile.ErrDamaged) || errors.Is(err, jsonfile.ErrNewer), err)
			require.Empty(t, covering)
		case covering != "":
			require.True(t, above[covering], "%s trusts %s", text, covering)
		}
		_, err = s.All()
		if _, changed := s.Set(t.Context(), folder, true); err != nil {
			require.Error(t, changed)
			now, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, text, string(now), "what cannot be read is not written over")
		} else {
			require.NoError(t, changed)
			now, err := s.Covering(folder)
			require.NoError(t, err)
			require.NotEmpty(t, now)
		}
	})
}
