package view

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func (fakeMemory) Map(context.Context) (Map, error) {
	return Map{Chunks: 9, Vectors: true, Points: []MapPoint{{X: 1, Y: 1, Path: hostile, Line: 3, Text: hostile}}}, nil
}

func TestMapIsColouredByFolder(t *testing.T) {
	m := Map{Vectors: true}
	for folder := range colours + 2 {
		for range folder + 1 {
			m.Points = append(m.Points, MapPoint{X: .25, Y: 1, Path: fmt.Sprintf("f%d/a.md", folder), Line: 7})
		}
	}
	m.Chunks = len(m.Points)
	p := mapOf(m)
	require.Equal(t, mapGroup{Folder: "f9", Chunks: 10}, p.Groups[0])
	require.Len(t, p.Groups, colours)
	require.Equal(t, 3, p.Others)
	require.Equal(t, colours, p.Dots[0].Colour, "folders with few chunks are grey")
	require.Zero(t, p.Dots[len(p.Dots)-1].Colour)
	require.Equal(t, 250, p.Dots[0].X)
	require.Zero(t, p.Dots[0].Y, "up is up")
}

func TestMapsThatCannotBe(t *testing.T) {
	for want, m := range map[string]Map{
		"run <code>memcore index</code>":    {},
		"knows words, but no meanings":      {Chunks: 3},
		"these are 1 of 9":                  {Chunks: 9, Vectors: true, Points: []MapPoint{{Path: "a.md"}}},
		`href="document?path=a%26b.md&amp;`: {Chunks: 1, Vectors: true, Points: []MapPoint{{Path: "a&b.md"}}},
	} {
		var b strings.Builder
		require.NoError(t, templates().ExecuteTemplate(&b, "map", mapOf(m)))
		require.Contains(t, b.String(), want)
	}
}
