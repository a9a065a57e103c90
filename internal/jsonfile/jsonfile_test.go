package jsonfile

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type document struct {
	Names []string `json:"names"`
}

func TestDamagedAndNewerFilesAreLeftAlone(t *testing.T) {
	for _, tt := range []struct {
		text string
		want error
	}{
		{"", ErrDamaged}, {"\x00\x00", ErrDamaged}, {"{", ErrDamaged}, {`{"names": 7}`, ErrDamaged}, {"[]", ErrDamaged},
		{`{"format": 2, "names": {"a": {}}}`, ErrNewer}, {`{"names": ["a"], "format": "x"}`, ErrNewer},
	} {
		file := filepath.Join(t.TempDir(), "document.json")
		require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
		_, err := Load[document](file)
		require.ErrorIs(t, err, tt.want, tt.text)
		_, err = Change(t.Context(), file, func(d *document) error { d.Names = nil; return nil })
		require.ErrorIs(t, err, tt.want, tt.text)
		left, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, tt.text, string(left))
	}
}

func TestDamagedDerivedDocumentsCountAsMissing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "document.json")
	add := func(d *document) error { d.Names = append(d.Names, "b"); return nil }
	require.NoError(t, os.WriteFile(file, []byte(`{"names": ["a"`), 0o600))
	d, err := LoadDerived[document](file)
	require.NoError(t, err)
	require.Empty(t, d)
	_, err = ChangeDerived(t.Context(), file, add)
	require.NoError(t, err)
	d, err = Load[document](file)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, d.Names)

	require.NoError(t, os.WriteFile(file, []byte(`{"format": 2}`), 0o600))
	_, err = ChangeDerived(t.Context(), file, add)
	require.ErrorIs(t, err, ErrNewer)
}

// The next writer removes temporary files of writers that were killed, and nothing else.
func TestLeftOver(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * time.Minute)
	put := func(name string, at time.Time) {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
		require.NoError(t, os.Chtimes(path, at, at))
	}
	for _, name := range []string{".memcore-new-A", ".memcore-new-B", "a.json.lock", "b.json", "a.json"} {
		put(name, old)
	}
	put(".memcore-new-C", time.Now()) // being written
	require.NoError(t, os.Mkdir(filepath.Join(dir, ".memcore-new-D"), 0o700))
	require.NoError(t, os.Chtimes(filepath.Join(dir, ".memcore-new-D"), old, old))
	require.NoError(t, Save(filepath.Join(dir, "a.json"), map[string]int{"a": 1}))
	var names []string
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	require.Equal(t, []string{".memcore-new-C", ".memcore-new-D", "a.json", "a.json.lock", "b.json"}, names)
	document, err := Load[map[string]int](filepath.Join(dir, "a.json"))
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 1}, document)
}

// What a program that knows no lock writes between reading and writing stays.
func TestChangeKeepsEditsOfOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "document.json")
	for _, there := range []string{"", `{"names":["a"]}`} {
		if there != "" {
			require.NoError(t, os.WriteFile(file, []byte(there), 0o600))
		}
		calls := 0
		d, err := Change(t.Context(), file, func(d *document) error {
			if calls++; calls == 1 {
				require.NoError(t, os.WriteFile(file+".edit", []byte(`{"names":["a","edited"]}`), 0o600))
				require.NoError(t, os.Rename(file+".edit", file))
			}
			d.Names = append(d.Names, "b")
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, []string{"a", "edited", "b"}, d.Names)
		again, err := Load[document](file)
		require.NoError(t, err)
		require.Equal(t, d, again)
	}
}
