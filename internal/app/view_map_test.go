package app

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/jsonfile"
)

// ready asks until the map is computed.
func ready(t *testing.T, s *Service) httpapi.Map {
	t.Helper()
	var m httpapi.Map
	require.Eventually(t, func() (ok bool) {
		var err error
		m, err = s.Map(t.Context(), httpapi.MapRequest{})
		require.NoError(t, err)
		return m.State == httpapi.MapReady
	}, time.Minute, 10*time.Millisecond)
	return m
}

func pointsOf(t *testing.T, m httpapi.Map) (n int) {
	t.Helper()
	for text, size := range map[string]int{m.X: 2, m.Y: 2, m.Lines: 4, m.Days: 2} {
		data, err := base64.StdEncoding.DecodeString(text)
		require.NoError(t, err)
		require.Len(t, data, size*m.Points)
	}
	for _, d := range m.Documents {
		n += d.Points
		require.Less(t, d.Source, len(m.Sources))
	}
	return n
}

func TestMapIsMadeOnceAndKept(t *testing.T) {
	s := openTestService(t, map[string]string{
		"a.md": "# Lunch\n\nOn Tuesdays the team eats lunch at the pier with everyone.\n\n# Ferry\n\nThe ferry leaves from pier K17.\n",
		"b.md": "# Lunch\n\nOn Tuesdays the team eats lunch at the pier with everyone!\n",
	})
	m, err := s.Map(t.Context(), httpapi.MapRequest{})
	require.NoError(t, err)
	require.Equal(t, httpapi.MapNoIndex, m.State)
	_, err = s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	m, err = s.Map(t.Context(), httpapi.MapRequest{})
	require.NoError(t, err)
	require.Equal(t, httpapi.MapComputing, m.State)
	m = ready(t, s)
	require.Equal(t, m.Points, pointsOf(t, m))
	require.Equal(t, m.Chunks, m.Points)
	require.False(t, m.Rough)
	again, err := s.Map(t.Context(), httpapi.MapRequest{Known: m.Stamp})
	require.NoError(t, err)
	require.Equal(t, m.Stamp, again.Stamp, "it is not made again")
	require.Empty(t, again.X, "the caller has the points")

	pairs, err := s.Pairs(t.Context())
	require.NoError(t, err)
	require.Len(t, pairs.Pairs, 1)
	require.Equal(t, []string{"duplicate", "a.md", "b.md"}, []string{pairs.Pairs[0].Kind, pairs.Pairs[0].First.Path, pairs.Pairs[0].Second.Path})
	require.Contains(t, pairs.Pairs[0].First.Text, "lunch at the pier")
	document, err := s.Document(t.Context(), httpapi.DocumentRequest{Path: "a.md", Line: pairs.Pairs[0].First.Line})
	require.NoError(t, err)
	require.Len(t, document.Chunks, 1)

	data, err := os.ReadFile(filepath.Join(s.at.Index, mapFile))
	require.NoError(t, err)
	require.NotContains(t, string(data), "Tuesdays", "the file holds no text")
}

// A map that is older than the index does not show what the index has lost.
func TestMapForgets(t *testing.T) {
	s := newTestService(t)
	m := ready(t, s)
	require.Len(t, m.Documents, 2)
	file := filepath.Join(s.at.Index, mapFile)
	made, err := jsonfile.Load[chart](file)
	require.NoError(t, err)
	made.Took = time.Hour // it stays for a while
	require.NoError(t, jsonfile.Save(file, made))
	require.NoError(t, os.Remove(filepath.Join(s.Project, "ferry.md")))
	_, err = s.Reindex(t.Context(), httpapi.IndexRequest{})
	require.NoError(t, err)
	now, err := s.Map(t.Context(), httpapi.MapRequest{})
	require.NoError(t, err)
	require.Equal(t, httpapi.MapReady, now.State)
	require.Equal(t, now.Points, pointsOf(t, now))
	require.Len(t, now.Documents, 1)
	require.Equal(t, "staging.md", now.Documents[0].Path)
	made.Took = 0
	require.NoError(t, jsonfile.Save(file, made))
	now, err = s.Map(t.Context(), httpapi.MapRequest{})
	require.NoError(t, err)
	require.Equal(t, httpapi.MapComputing, now.State)
	require.NotEqual(t, m.Stamp, ready(t, s).Stamp)
}

// A damaged file is derived again; one of another form, too.
func TestMapFileIsDerived(t *testing.T) {
	s := newTestService(t)
	ready(t, s)
	for _, text := range []string{"{", "[]", `{"kind":"map 0","revision":"x","X":"AAAA"}`, `{"kind":"map 1","revision":"x","made":"2999-01-01T00:00:00Z","Documents":[{"path":"a.md","points":3}]}`} {
		require.NoError(t, os.WriteFile(filepath.Join(s.at.Index, mapFile), []byte(text), 0o600))
		m := ready(t, s)
		require.Equal(t, m.Points, pointsOf(t, m), text)
		require.NotZero(t, m.Points)
	}
}

func TestMapWithoutVectors(t *testing.T) {
	t.Setenv("MEMCORE_EMBEDDER", "none")
	s := newTestService(t)
	m, err := s.Map(t.Context(), httpapi.MapRequest{})
	require.NoError(t, err)
	require.Equal(t, httpapi.MapNoVectors, m.State)
}

// The work ends with the service.
func TestMapEndsWithTheService(t *testing.T) {
	var m mapMaker
	began := make(chan struct{})
	_, _, err := m.begin(func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	require.NoError(t, err)
	<-began
	_, _, err = m.begin(func(context.Context) error { panic("two at once") })
	require.NoError(t, err)
	m.close()
	_, _, err = m.begin(nil)
	require.ErrorIs(t, err, context.Canceled, "the reason is told once")
	_, _, err = m.begin(nil)
	require.ErrorIs(t, err, httpapi.ErrClosed)
}

func TestCorrectionsAreAPair(t *testing.T) {
	s := newTestService(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.Project, "BEANS.md"), []byte("- The staging database listens on port 5433.\n"), 0o600))
	_, err := s.Notes().Proposals().Add(t.Context(), notes.Proposal{ID: "abcdef", Kind: notes.ProposedSave, Source: "claude-code", Text: "The staging database listens on port 5444.",
		Save: &notes.SaveRequest{Content: "The staging database listens on port 5444.", Supersedes: "BEANS.md#L1"}})
	require.NoError(t, err)
	pairs, err := s.Pairs(t.Context())
	require.NoError(t, err)
	require.Len(t, pairs.Pairs, 1)
	p := pairs.Pairs[0]
	require.Equal(t, httpapi.PairCorrection, p.Kind)
	require.Contains(t, p.First.Text, "5433")
	require.Contains(t, p.Second.Text, "5444")
}

func TestShortenedKeepsWholeLetters(t *testing.T) {
	require.Equal(t, strings.Repeat("ä", mostShown/2)+"…", shortened(strings.Repeat("ä", mostShown)))
	require.Equal(t, "a", shortened("a"))
}

func TestSampleOfManyChunks(t *testing.T) {
	n := 0
	for i := range 20_000 {
		if share(fmt.Sprintf("%016x", i*7919), 1000, 20_000) {
			n++
		}
	}
	require.InDelta(t, 1000, n, 150)
}
