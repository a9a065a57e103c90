package jsonfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// An unusable file is not overwritten, unless it can be derived again.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{`{"names":{"a":1}}`, `{"names":[]}`, `{"format":2,"names":{}}`, `{"FORMAT":null}`, `null`, `[]`, `7`, "", "\x00", `{"names":{"a":1e999}}`} {
		f.Add(seed)
	}
	type document struct {
		Names map[string]int `json:"names"`
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "file.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		was, err := Load[document](file)
		if err != nil {
			require.True(t, errors.Is(err, ErrDamaged) || errors.Is(err, ErrNewer), err)
			require.Zero(t, was)
		}
		_, changed := Change(t.Context(), file, func(d *document) error {
			d.Names = map[string]int{"b": len(d.Names)}
			return nil
		})
		require.Equal(t, err == nil, changed == nil, "%v, %v", err, changed)
		now, readErr := os.ReadFile(file)
		require.NoError(t, readErr)
		if err != nil {
			require.Equal(t, text, string(now))
		} else {
			again, err := Load[document](file)
			require.NoError(t, err)
			require.Equal(t, map[string]int{"b": len(was.Names)}, again.Names)
		}
		derived, err := LoadDerived[document](file)
		require.True(t, err == nil || errors.Is(err, ErrNewer) && derived.Names == nil, err)
	})
}
