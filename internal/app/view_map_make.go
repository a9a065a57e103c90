package app

import (
	"cmp"
	"context"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/layout"
	"github.com/memcore/memcore/store"
)

const (
	// mostPoints bounds a map; of more chunks it shows a sample.
	mostPoints = 100_000
	// mostSample vectors show the principal axes.
	mostSample = 2000
	shortAxes  = 48
	neighbours = 15
)

// A point is a chunk on the map.
type point struct {
	path, id, kind string
	line, end      int
	day            uint16
	brief          bool // too short to be a duplicate
}

// A chartMaker makes a chart of vectors.
type chartMaker struct {
	vectors *core.Vectors
	points  []point
	places  map[string]int // of points, by ID
	short   layout.Points
}

// makeChart makes a chart of a memory and keeps it in a file.
func makeChart(ctx context.Context, memory *core.Manager, file string, report func(percent int, rough *chart)) error {
	began := time.Now()
	vectors, err := core.VectorsOf(ctx, memory)
	if err != nil {
		return err
	}
	defer vectors.Close()
	m := chartMaker{vectors: vectors}
	axes, err := m.survey(ctx)
	if err != nil {
		return err
	}
	c := chart{Format: chartFormat, Revision: vectors.Revision}
	if len(m.points) > 0 {
		report(5, nil)
		if err := m.shorten(ctx, axes); err != nil {
			return err
		}
		rough := c
		rough.Rough, rough.Made = true, time.Now()
		x, y := layout.Whole(m.firstTwo())
		rough.draw(m.points, x, y, vectors.Source)
		report(10, &rough)
		if err := m.place(ctx, &c, func(percent int) { report(percent, nil) }); err != nil {
			return err
		}
	}
	c.Made, c.Took = time.Now(), time.Since(began)
	return jsonfile.Save(file, c)
}

// share reports whether an ID is among about most of all.
func share(id string, most, all int) bool {
	return float64(crc32.ChecksumIEEE([]byte(id))) <= float64(most)/float64(max(all, 1))*math.MaxUint32
}

// survey finds the points, and the principal axes of some.
func (m *chartMaker) survey(ctx context.Context) (axes layout.Axes, err error) {
	sample := map[string][]float32{}
	err = m.vectors.Each(ctx, func(r store.Record) error {
		if !share(r.ID, mostPoints, m.vectors.Chunks) {
			return nil
		}
		p := point{path: r.Path, id: r.ID, kind: r.Kind, line: r.StartLine, end: r.EndLine, brief: len(strings.Fields(r.Text)) < fewestWords}
		if days := r.Time.Unix() / (24 * 60 * 60); !r.Time.IsZero() && days > 0 && days <= math.MaxUint16 {
			p.day = uint16(days)
		}
		m.points = append(m.points, p)
		if share(r.ID, mostSample, m.vectors.Chunks) || len(sample) == 0 {
			sample[r.ID] = slices.Clone(r.Vector)
		}
		return nil
	})
	if err != nil || len(m.points) == 0 {
		return axes, err
	}
	slices.SortFunc(m.points, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line), cmp.Compare(a.id, b.id))
	})
	m.places = make(map[string]int, len(m.points))
	var vectors [][]float32
	for i, p := range m.points {
		m.places[p.id] = i
		if v := sample[p.id]; v != nil {
			vectors = append(vectors, v)
		}
	}
	return layout.Principal(ctx, vectors, shortAxes)
}

// shorten reads all vectors again, and keeps their numbers along the axes.
func (m *chartMaker) shorten(ctx context.Context, axes layout.Axes) error {
	m.short.Dimension = max(2, axes.Count())
	m.short.Values = make([]float32, len(m.points)*m.short.Dimension)
	return m.vectors.Each(ctx, func(r store.Record) error {
		if at, ok := m.places[r.ID]; ok {
			axes.Shorten(r.Vector, m.short.At(at))
		}
		return nil
	})
}

// firstTwo are the coordinates along the first two axes.
func (m *chartMaker) firstTwo() []float32 {
	at := make([]float32, 0, 2*len(m.points))
	for i := range m.points {
		at = append(at, m.short.At(i)[:2]...)
	}
	return at
}

// place lays the points out, and finds pairs.
func (m *chartMaker) place(ctx context.Context, c *chart, report func(percent int)) error {
	k := min(neighbours, max(4, len(m.points)/6)) // of few points, few are near
	near, err := layout.Neighbours(ctx, m.short, k, func(share float64) { report(10 + int(15*share)) })
	if err != nil {
		return err
	}
	if c.Pairs, err = m.duplicates(ctx, near); err != nil {
		return err
	}
	at, err := layout.Place(ctx, m.short, near, func(share float64) { report(30 + int(69*share)) })
	if err != nil {
		return err
	}
	x, y := layout.Whole(at)
	c.draw(m.points, x, y, m.vectors.Source)
	return nil
}

const (
	// leastCosine is that of near duplicates.
	leastCosine = .95
	// fewestWords excludes headings and "yes, please", as core.Statistics does.
	fewestWords = 5
	mostPairs   = 200
	// mostTried pairs of neighbours are compared by their whole vectors.
	mostTried = 5000
)

// A near pair is two points, of which the first comes first.
type nearPair struct {
	a, b int
	like float64
}

// duplicates returns near duplicates, the nearest first, of which a person can change one. In a
// group that says the same, each is paired once.
func (m *chartMaker) duplicates(ctx context.Context, near layout.Graph) ([]chartPair, error) {
	tried := m.candidates(near)
	vectors := map[int][]float32{}
	for _, p := range tried {
		vectors[p.a], vectors[p.b] = nil, nil
	}
	err := m.vectors.Each(ctx, func(r store.Record) error {
		at, ok := m.places[r.ID]
		if _, wanted := vectors[at]; ok && wanted {
			vectors[at] = slices.Clone(r.Vector)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, p := range tried {
		tried[i].like = cosineOf(vectors[p.a], vectors[p.b])
	}
	slices.SortStableFunc(tried, func(x, y nearPair) int { return cmp.Compare(y.like, x.like) })
	var pairs []chartPair
	group := map[int]int{}
	for _, p := range tried {
		if p.like < leastCosine || len(pairs) == mostPairs {
			break
		}
		if a, b := groupOf(group, p.a), groupOf(group, p.b); a != b {
			group[b] = a
			pairs = append(pairs, chartPair{m.chunk(p.a), m.chunk(p.b), math.Round(p.like*1000) / 1000})
		}
	}
	return pairs, nil
}

// candidates returns pairs of neighbours that may be near duplicates, the nearest first. Their
// squared distance along the axes is at most the whole one, 2-2·cosine.
func (m *chartMaker) candidates(near layout.Graph) (all []nearPair) {
	for i, a := range m.points {
		for k := range near.K {
			j, d := int(near.To[i*near.K+k]), near.Distance[i*near.K+k]
			if d > 2-2*leastCosine {
				break
			}
			b := m.points[j]
			overlap := a.path == b.path && a.line <= b.end && b.line <= a.end
			if !a.brief && !b.brief && !overlap && (a.kind != source.KindConversation || b.kind != source.KindConversation) {
				all = append(all, nearPair{min(i, j), max(i, j), -float64(d)})
			}
		}
	}
	slices.SortFunc(all, func(x, y nearPair) int {
		return cmp.Or(cmp.Compare(y.like, x.like), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
	all = slices.Compact(all)
	return all[:min(len(all), mostTried)]
}

func (m *chartMaker) chunk(at int) chartChunk {
	return chartChunk{Path: m.points[at].path, ID: m.points[at].id}
}

// groupOf returns the first of a point's group.
func groupOf(group map[int]int, at int) int {
	for next, ok := group[at]; ok; next, ok = group[at] {
		at = next
	}
	return at
}

// cosineOf takes vectors of length 1; 0 if one is gone.
func cosineOf(a, b []float32) (sum float64) {
	if len(a) != len(b) {
		return 0
	}
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return min(sum, 1)
}
