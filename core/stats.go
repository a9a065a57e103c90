package core

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/store"
)

// Statistics show how a memory is used and what needs attention.
type Statistics struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	// Never were not given to agents, oldest first.
	Never []Aged `json:"never"`
	// Stale are those Markdown documents of Never that have long not changed.
	Stale []Aged `json:"stale"`
	// Duplicates are groups of citations of near duplicates, newest first.
	Duplicates [][]string `json:"duplicates"`
}

// An Aged document has the time of its last change.
type Aged struct {
	Path    string    `json:"path"`
	Changed time.Time `json:"changed"`
}

// Statistics reads the whole index. given has the paths of documents that agents got. since bounds
// Stale.
func (m *Manager) Statistics(ctx context.Context, since time.Time, given map[string]bool) (Statistics, error) {
	s := Statistics{Never: []Aged{}, Stale: []Aged{}}
	groups := likeness{buckets: map[[2]uint64][]*group{}}
	err := m.eachDocument(ctx, func(path string, e entry, records []store.Record) {
		s.Documents++
		s.Chunks += len(records)
		if aged := (Aged{Path: path, Changed: e.ModTime}); !given[path] {
			s.Never = append(s.Never, aged)
			if e.Kind == source.KindMarkdown && e.ModTime.Before(since) {
				s.Stale = append(s.Stale, aged)
			}
		}
		for _, r := range records {
			groups.add(r)
		}
	})
	if err != nil {
		return Statistics{}, err
	}
	s.Duplicates = groups.all()
	older := func(a, b Aged) int { return cmp.Or(a.Changed.Compare(b.Changed), cmp.Compare(a.Path, b.Path)) }
	slices.SortFunc(s.Never, older)
	slices.SortFunc(s.Stale, older)
	return s, nil
}

// likeness groups near duplicates. It compares chunks that share a smallest hash of their words, as
// near duplicates nearly always do (Broder 1997).
type likeness struct {
	groups  []*group
	buckets map[[2]uint64][]*group
}

// A group is a chunk and its near duplicates.
type group struct {
	words  words // of the first
	chunks []likeChunk
}

type likeChunk struct {
	citation string
	time     time.Time
}

const (
	hashings = 4
	// fewestWords excludes "yes, please", which is said often.
	fewestWords = 5
	// fullBucket bounds the groups to compare: more share a template.
	fullBucket = 40
)

func (l *likeness) add(r store.Record) {
	said := wordsOf(r.Text)
	if len(said) < fewestWords {
		return
	}
	chunk := likeChunk{paths.Citation(r.Path, r.StartLine, r.EndLine), r.Time}
	hashes := leastHashes(said)
	for way, least := range hashes {
		for _, g := range l.buckets[[2]uint64{uint64(way), least}] {
			if said.overlap(g.words) >= nearDuplicate {
				g.chunks = append(g.chunks, chunk)
				return
			}
		}
	}
	g := &group{words: said, chunks: []likeChunk{chunk}}
	l.groups = append(l.groups, g)
	for way, least := range hashes {
		if key := [2]uint64{uint64(way), least}; len(l.buckets[key]) < fullBucket {
			l.buckets[key] = append(l.buckets[key], g)
		}
	}
}

// leastHashes returns the words' smallest hash by each function.
func leastHashes(w words) [hashings]uint64 {
	least := [hashings]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
	for word := range w {
		h := fnv.New64a()
		h.Write([]byte(word))
		x := h.Sum64()
		for way := range least {
			x ^= x >> 33 // a step of MurmurHash3's finaliser, another number each time
			x *= 0xff51afd7ed558ccd
			x ^= x >> 29
			least[way] = min(least[way], x)
		}
	}
	return least
}

func (l *likeness) all() [][]string {
	all := [][]string{}
	for _, g := range l.groups {
		if len(g.chunks) < 2 {
			continue
		}
		slices.SortStableFunc(g.chunks, func(a, b likeChunk) int { return b.time.Compare(a.time) })
		var citations []string
		for _, c := range g.chunks {
			citations = append(citations, c.citation)
		}
		all = append(all, citations)
	}
	slices.SortStableFunc(all, func(a, b []string) int { return len(b) - len(a) })
	return all
}
