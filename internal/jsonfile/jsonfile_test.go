package jsonfile

import (
	"os"
	"path/filepath"
	"testing"

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

func TestDerivedDocumentsBeginAnew(t *testing.T) {
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
