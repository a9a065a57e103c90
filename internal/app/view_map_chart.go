package app

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"time"

	"github.com/memcore/memcore/inject/httpapi"
)

// chartFormat changes with chart, and with how it is made.
const chartFormat = "map 1"

// A chart is a map in its file, without any text.
type chart struct {
	Format   string        `json:"kind"`
	Revision string        `json:"revision"` // of the index
	Rough    bool          `json:"rough"`
	Made     time.Time     `json:"made"`
	Took     time.Duration `json:"took"`

	// Little-endian integers, as httpapi.Map has them.
	X, Y, Lines, Days []byte

	Documents []httpapi.MapDocument
	Sources   []string
	Pairs     []chartPair
}

// A chartPair is two chunks that say nearly the same.
type chartPair struct {
	First, Second chartChunk
	Cosine        float64
}

type chartChunk struct{ Path, ID string }

// fits reports whether a file's numbers belong together: anyone may have written it.
func (c *chart) fits() bool {
	n := 0
	for _, d := range c.Documents {
		if d.Points < 1 || d.Points > mostPoints*2 || d.Source < 0 || d.Source >= len(c.Sources) {
			return false
		}
		n += d.Points
	}
	return c.Format == chartFormat && len(c.X) == 2*n && len(c.Y) == 2*n && len(c.Lines) == 4*n && len(c.Days) == 2*n
}

// draw sets the points, in their order.
func (c *chart) draw(points []point, x, y []uint16, sourceOf func(path string) string) {
	for i, p := range points {
		c.X = binary.LittleEndian.AppendUint16(c.X, x[i])
		c.Y = binary.LittleEndian.AppendUint16(c.Y, y[i])
		c.Lines = binary.LittleEndian.AppendUint32(c.Lines, uint32(p.line))
		c.Days = binary.LittleEndian.AppendUint16(c.Days, p.day)
		if n := len(c.Documents); n > 0 && c.Documents[n-1].Path == p.path {
			c.Documents[n-1].Points++
			continue
		}
		from := sourceOf(p.path)
		source := slices.Index(c.Sources, from)
		if source < 0 {
			source = len(c.Sources)
			c.Sources = append(c.Sources, from)
		}
		c.Documents = append(c.Documents, httpapi.MapDocument{Path: p.path, Kind: p.kind, Source: source, Points: 1})
	}
}

// without removes the points of documents that are gone.
func (c *chart) without(gone func(path string) bool) {
	from := chart{X: c.X, Y: c.Y, Lines: c.Lines, Days: c.Days, Documents: c.Documents}
	if !slices.ContainsFunc(from.Documents, func(d httpapi.MapDocument) bool { return gone(d.Path) }) {
		return
	}
	c.X, c.Y, c.Lines, c.Days, c.Documents = nil, nil, nil, nil, nil
	at := 0
	for _, d := range from.Documents {
		first, end := at, at+d.Points
		at = end
		if gone(d.Path) {
			continue
		}
		c.X, c.Y = append(c.X, from.X[2*first:2*end]...), append(c.Y, from.Y[2*first:2*end]...)
		c.Lines, c.Days = append(c.Lines, from.Lines[4*first:4*end]...), append(c.Days, from.Days[2*first:2*end]...)
		c.Documents = append(c.Documents, d)
	}
}

// show copies the points into a map, unless their stamp is known.
func (c *chart) show(m *httpapi.Map, known string) {
	if c.Revision == "" {
		return
	}
	m.Stamp, m.Rough, m.Made, m.Points = c.Made.UTC().Format(time.RFC3339Nano), c.Rough, c.Made, len(c.X)/2
	if m.Stamp == known {
		return
	}
	text := base64.StdEncoding.EncodeToString
	m.X, m.Y, m.Lines, m.Days, m.Documents, m.Sources = text(c.X), text(c.Y), text(c.Lines), text(c.Days), c.Documents, c.Sources
}
