package app

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/layout"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/store"
)

const (
	// maxPoints is about how many chunks a map has at most: more would be no clearer, and the
	// layout takes longer with their square.
	maxPoints = 800
	// maxBeginning bounds the text of a point, in characters.
	maxBeginning = 80
)

// A drawnMap is the last map of a workspace. It is made again when the index has changed.
type drawnMap struct {
	mu       sync.Mutex
	revision string // of the index; "" for none
	drawn    view.Map
}

// Map implements view.Memory.
func (v page) Map(ctx context.Context) (view.Map, error) {
	vectors, err := core.VectorsOf(ctx, v.s.Manager)
	if errors.Is(err, core.ErrNotIndexed) {
		return view.Map{}, nil
	}
	if err != nil {
		return view.Map{}, err
	}
	defer vectors.Close()
	last := &v.s.drawn
	last.mu.Lock()
	defer last.mu.Unlock()
	if last.revision == vectors.Revision {
		return last.drawn, nil
	}
	m, err := draw(ctx, vectors)
	if err != nil {
		return view.Map{}, err
	}
	last.revision, last.drawn = vectors.Revision, m
	return m, nil
}

// draw makes a map of chunks, or of a sample that stays the same while they do.
func draw(ctx context.Context, vectors *core.Vectors) (view.Map, error) {
	m := view.Map{Chunks: vectors.Chunks, Vectors: vectors.Any()}
	var records []store.Record
	share := float64(maxPoints) / float64(max(vectors.Chunks, 1))
	err := vectors.Each(ctx, func(r store.Record) error {
		if float64(crc32.ChecksumIEEE([]byte(r.ID))) <= share*math.MaxUint32 {
			r.Vector = slices.Clone(r.Vector)
			records = append(records, r)
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	slices.SortFunc(records, func(a, b store.Record) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.StartLine, b.StartLine), cmp.Compare(a.ID, b.ID))
	})
	all := make([][]float32, len(records))
	for i, r := range records {
		all[i] = r.Vector
	}
	places, err := layout.Place(ctx, all)
	if err != nil {
		return m, err
	}
	for i, r := range records {
		text := plain.Shorten(strings.Join(strings.Fields(r.Text), " "), maxBeginning)
		m.Points = append(m.Points, view.MapPoint{X: places[i][0], Y: places[i][1], Path: r.Path, Line: r.StartLine, Text: text})
	}
	return m, nil
}
