package tenants

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/store"
)

// A node that believes in an old text does not lose what is written last, nor refuse what others
// made possible.
func TestWritesOfStaleNodes(t *testing.T) {
	log := &memoryLog{}
	all := rules{func(store.Revision) error { return nil }, func(size, size) error { return nil }}
	open := func() *mirror {
		m, err := openMirror(t.Context(), log, t.TempDir(), nil, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, m.close()) })
		return m
	}
	write := func(m *mirror, texts map[string]string) int64 {
		var paths []string
		for path := range texts {
			paths = append(paths, path)
		}
		version, err := m.write(t.Context(), "ann", paths, all, func() error {
			for path, text := range texts {
				if err := m.put(path, text, &document{}); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
		return version
	}
	has := func(m *mirror, path, want string) {
		_, err := m.fresh(t.Context(), 0, 0)
		require.NoError(t, err)
		text, _, _, err := m.read(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
	one, two := open(), open()
	write(one, map[string]string{"shared/a.md": "first"})
	_, err := two.fresh(t.Context(), 0, 0)
	require.NoError(t, err)

	between := write(one, map[string]string{"shared/a.md": "second"})
	last := write(two, map[string]string{"shared/a.md": "first"}) // as two believes it is
	require.Greater(t, last, between)
	has(one, "shared/a.md", "first")

	write(one, map[string]string{"shared/a.md": "third"})
	write(two, map[string]string{"shared/a.md": "first", "shared/b.md": "new"})
	has(one, "shared/a.md", "first")

	write(one, map[string]string{"shared/c.md": "new"})
	_, err = two.write(t.Context(), "ann", []string{"shared/c.md"}, all, func() error {
		return two.root.Remove("shared/c.md")
	})
	require.NoError(t, err, "two does not know it yet")
	_, known := two.documents["shared/c.md"]
	require.False(t, known)
}
