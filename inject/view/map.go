package view

import (
	"path"
	"slices"
	"strings"
)

// mapPage is a map as a picture.
type mapPage struct {
	Map
	Dots   []dot
	Groups []mapGroup // the folders with a colour of their own
	Others int        // chunks in other folders
}

// mapSide is the side of the picture, in its own units.
const mapSide = 1000

// colours is how many colours the style has: group0, group1 and so on.
const colours = 8

// A dot is a point of the picture.
type dot struct {
	MapPoint
	X, Y, Colour int
}

// A mapGroup has the chunks of a folder.
type mapGroup struct {
	Folder string
	Chunks int
	Colour int
}

func (v visit) chunkMap() error {
	m, err := v.memory.Map(v.r.Context())
	if err != nil {
		return err
	}
	return v.show("map", "map", "Map", mapOf(m))
}

func mapOf(m Map) mapPage {
	p := mapPage{Map: m}
	for _, point := range m.Points {
		folder := path.Dir(point.Path)
		at := slices.IndexFunc(p.Groups, func(g mapGroup) bool { return g.Folder == folder })
		if at < 0 {
			at = len(p.Groups)
			p.Groups = append(p.Groups, mapGroup{Folder: folder})
		}
		p.Groups[at].Chunks++
	}
	slices.SortFunc(p.Groups, func(a, b mapGroup) int {
		if a.Chunks != b.Chunks {
			return b.Chunks - a.Chunks
		}
		return strings.Compare(a.Folder, b.Folder)
	})
	for _, g := range p.Groups[min(len(p.Groups), colours):] {
		p.Others += g.Chunks
	}
	p.Groups = p.Groups[:min(len(p.Groups), colours)]
	colour := map[string]int{}
	for i := range p.Groups {
		p.Groups[i].Colour, colour[p.Groups[i].Folder] = i, i
	}
	for _, point := range m.Points {
		c, ok := colour[path.Dir(point.Path)]
		if !ok {
			c = colours // grey
		}
		p.Dots = append(p.Dots, dot{point, int(point.X * mapSide), int(mapSide - point.Y*mapSide), c})
	}
	return p
}
