package notes

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Files of a mount are named, read and changed below its name, and others are not touched.
func TestMounted(t *testing.T) {
	d := newFixture(t)
	own := d.data()
	team := filepath.Join(d.project, "team")
	all := Mounted{Files: own, Mounts: map[string]Files{"@ops": own.In(team, filepath.Join(team, "memory"))}}
	_, err := all.Write(t.Context(), "facts/a.md", "# A\n\n- own: yes\n")
	require.NoError(t, err)
	w, err := all.Append(t.Context(), "@ops/facts/b.md", "- pager: rings", "")
	require.NoError(t, err)
	require.Equal(t, "@ops/facts/b.md", w.Path)
	w, err = all.Patch(t.Context(), "@ops/facts/b.md", []Patch{{OldText: "rings", NewText: "hums"}}, false)
	require.NoError(t, err)
	require.Equal(t, 1, w.Applied)

	items, err := all.List(t.Context())
	require.NoError(t, err)
	require.Len(t, items, 2)
	require.Equal(t, "facts/a.md", items[0].Path)
	require.Equal(t, "@ops/facts/b.md", items[1].Path)
	text, err := all.Read(t.Context(), "@ops/facts/b.md")
	require.NoError(t, err)
	require.Contains(t, text, "hums")
	for _, name := range []string{"facts/b.md", "@ops/facts/a.md"} {
		_, err := all.Read(t.Context(), name)
		require.ErrorIs(t, err, ErrNoFile, name)
	}
	d.write("data/memory/@web/facts/c.md", "# C")
	items, err = all.List(t.Context())
	require.NoError(t, err)
	require.Len(t, items, 2, "what looks like a mount is none")
	for _, name := range []string{"@web/facts/c.md", "./@web/facts/c.md", "facts/../@web/x.md", "@/x.md", "@.md"} {
		_, err := all.Read(t.Context(), name)
		require.ErrorIs(t, err, ErrPath, name)
		_, err = all.Write(t.Context(), name, "for the team")
		require.ErrorIs(t, err, ErrPath, name)
		_, err = all.Append(t.Context(), name, "for the team", "")
		require.ErrorIs(t, err, ErrPath, name)
		_, err = all.Patch(t.Context(), name, []Patch{{OldText: "C", NewText: "for the team"}}, false)
		require.ErrorIs(t, err, ErrPath, name)
	}
	for _, name := range []string{"@ops", "@ops/", "@ops/../facts/a.md"} {
		_, err := all.Read(t.Context(), name)
		require.Error(t, err, name)
	}
}
