package app

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/httpapi"
)

func TestMapFollowsTheIndex(t *testing.T) {
	s := openTestService(t, map[string]string{"a.md": "# Lunch\n\nOn Tuesdays the team eats lunch at the pier.\n\n# Ferry\n\nThe ferry leaves from pier K17.\n"})
	m, err := s.Page().Map(t.Context())
	require.NoError(t, err)
	require.Zero(t, m, "nothing is indexed")
	_, err = s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	m, err = s.Page().Map(t.Context())
	require.NoError(t, err)
	require.True(t, m.Vectors)
	require.Len(t, m.Points, 2)
	require.Equal(t, m.Chunks, len(m.Points))
	require.Equal(t, "a.md", m.Points[1].Path)
	require.Equal(t, 5, m.Points[1].Line)
	require.Contains(t, m.Points[1].Text, "The ferry leaves from pier K17.")
	again, err := s.Page().Map(t.Context())
	require.NoError(t, err)
	require.Same(t, &m.Points[0], &again.Points[0], "it is made once")
	c := corrector{s, s.Page(), t}
	c.write("b.md", "# Harbour\n\nThe harbour opens at six.\n")
	_, err = s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	m, err = s.Page().Map(t.Context())
	require.NoError(t, err)
	require.Len(t, m.Points, 3)
}
