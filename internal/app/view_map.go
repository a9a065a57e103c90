package app

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/jsonfile"
)

// A mapMaker makes a workspace's map in the background, one at a time. Its zero value is ready.
type mapMaker struct {
	mu       sync.Mutex
	stop     context.CancelFunc // of the work; nil if none runs
	work     sync.WaitGroup
	closed   bool
	progress int
	rough    *chart // principal axes of what is being made
	failed   error  // of the last work, until it is told
}

// close ends the work.
func (m *mapMaker) close() {
	m.mu.Lock()
	m.closed = true
	if m.stop != nil {
		m.stop()
	}
	m.mu.Unlock()
	m.work.Wait()
}

// report notes how far the work is, in percent.
func (m *mapMaker) report(percent int, rough *chart) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.progress = percent
	if rough != nil {
		m.rough = rough
	}
}

// begin begins work, unless some runs. It returns the last work's error, once.
func (m *mapMaker) begin(work func(context.Context) error) (percent int, rough *chart, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err, m.failed = m.failed, nil; err != nil {
		return 0, nil, err
	}
	if m.closed {
		return 0, nil, httpapi.ErrClosed
	}
	if m.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		m.stop, m.progress, m.rough = stop, 0, nil
		m.work.Go(func() {
			err := work(ctx)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.stop, m.rough, m.failed = nil, nil, err
			stop()
		})
	}
	return m.progress, m.rough, nil
}

// mapFile, in the folder of the index, is derived from it.
const mapFile = "map.json"

// After a map the maker rests restFor times as long: it takes a 20th of a core.
const restFor = 20

// Map implements httpapi.Workspace.
func (v view) Map(ctx context.Context, r httpapi.MapRequest) (httpapi.Map, error) {
	out, made, err := v.chart(ctx)
	made.show(&out, r.Known)
	return out, err
}

// chart returns the latest chart and the map's state, and begins a chart if one is due.
func (v view) chart(ctx context.Context) (out httpapi.Map, made chart, err error) {
	vectors, err := core.VectorsOf(ctx, v.s.Manager)
	if errors.Is(err, core.ErrNotIndexed) {
		out.State = httpapi.MapNoIndex
		return out, made, nil
	}
	if err != nil {
		return out, made, err
	}
	defer vectors.Close()
	out.Chunks = vectors.Chunks
	if !vectors.Any() {
		out.State = httpapi.MapNoVectors
		return out, made, nil
	}
	file := filepath.Join(v.s.at.Index, mapFile)
	if made, err = jsonfile.LoadDerived[chart](file); err != nil {
		return out, made, err
	}
	if !made.fits() {
		made = chart{}
	}
	out.State = httpapi.MapReady
	if made.Revision != vectors.Revision && time.Since(made.Made) > restFor*made.Took {
		out.State = httpapi.MapComputing
		percent, rough, err := v.s.maker.begin(func(ctx context.Context) error { return makeChart(ctx, v.s.Manager, file, v.s.maker.report) })
		if err != nil {
			return out, chart{}, err
		}
		if out.Progress = percent; made.Revision == "" && rough != nil {
			made = *rough
		}
	}
	made.without(func(path string) bool { return vectors.Source(path) == "" })
	return out, made, nil
}

// Pairs implements httpapi.Workspace.
func (v view) Pairs(ctx context.Context) (httpapi.Pairs, error) {
	out := httpapi.Pairs{Pairs: []httpapi.Pair{}}
	now, made, err := v.chart(ctx)
	if err != nil {
		return out, err
	}
	out.State = now.State
	if out.Pairs, err = v.corrections(ctx); err != nil {
		return out, err
	}
	known := map[string][]core.MemoryHit{}
	for _, p := range made.Pairs {
		first, ok := v.side(ctx, known, p.First)
		second, also := v.side(ctx, known, p.Second)
		if ok && also {
			out.Pairs = append(out.Pairs, httpapi.Pair{Kind: httpapi.PairDuplicate, Cosine: p.Cosine, First: first, Second: second})
		}
	}
	out.Pairs = out.Pairs[:min(len(out.Pairs), mostPairs)]
	return out, ctx.Err()
}

// side returns a chunk as the index has it now; ok is false if it is gone.
func (v view) side(ctx context.Context, known map[string][]core.MemoryHit, at chartChunk) (side httpapi.PairSide, ok bool) {
	chunks, read := known[at.Path]
	if !read {
		chunks, _ = v.s.Manager.Chunks(ctx, at.Path) // none if the document is gone
		known[at.Path] = chunks
	}
	i := slices.IndexFunc(chunks, func(c core.MemoryHit) bool { return c.ID == at.ID })
	if i < 0 {
		return side, false
	}
	c := chunks[i]
	return httpapi.PairSide{Path: c.Path, Line: c.StartLine, Source: c.Source, Text: shortened(c.Text)}, true
}

// mostShown bytes of a text are in a pair.
const mostShown = 500

func shortened(text string) string {
	if len(text) <= mostShown {
		return text
	}
	end := mostShown
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// corrections are the waiting proposals that replace a statement.
func (v view) corrections(ctx context.Context) ([]httpapi.Pair, error) {
	waiting, err := v.s.Notes().Proposals().Waiting()
	if err != nil {
		return []httpapi.Pair{}, err
	}
	all := []httpapi.Pair{}
	for _, p := range waiting {
		if p.Kind != notes.ProposedSave || p.Save == nil || p.Save.Supersedes == "" {
			continue
		}
		replaced, _ := notes.Clean(p.Save.Supersedes) // as an agent quotes it
		saved, _ := notes.Clean(p.Save.Content)
		old := httpapi.PairSide{Source: replaced, Text: shortened(replaced)}
		if found, err := v.s.Notes().Find(ctx, p.Save.Supersedes); err == nil {
			old = httpapi.PairSide{Line: found.First, Source: found.Citation(), Text: shortened(found.Lasting(replaced))}
			if _, err := v.s.Manager.Chunks(ctx, found.Path); err == nil {
				old.Path = found.Path
			}
		}
		all = append(all, httpapi.Pair{Kind: httpapi.PairCorrection, First: old,
			Second: httpapi.PairSide{Source: cmp.Or(p.Source, "a proposal"), Text: shortened(saved)}})
	}
	return all, nil
}
