package flat

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat/internal/dot"
)

// A Part holds the codes of some vectors in memory, without the vectors and texts, for a memory
// that is kept elsewhere (see keyword.Part): Candidates tells which vectors to ask there. It is
// immutable, and safe for concurrent use. A nil *Part is empty.
type Part struct {
	blocks []*partBlock // the largest first
}

// A Member is a vector of a Part. Those of one dimension are searched together.
type Member struct {
	ID    string // unique in all parts that are searched together
	Path  string // of the document
	Kind  string
	Scope string
	Time  time.Time
	Code  Code
}

// A partBlock holds rows in the order of their places. It never changes once it is in a part.
type partBlock struct {
	size  int // of a code
	codes []byte
	ids   string
	ends  []uint32 // of IDs
	times []int64  // in seconds since 1970
	runs  []run
	dead  []bool // by run; nil if none is
	alive int    // rows
}

// A run is rows of one place, from the end of the run before.
type run struct {
	place
	end int
}

// maxInPartBlock bounds what a change copies.
const maxInPartBlock = 8_192

// With returns p without the vectors of some documents, and with members, which are of those
// documents or of new ones; p stays as it is, and shares memory with what is returned.
func (p *Part) With(paths []string, members []Member) *Part {
	gone := make(map[string]bool, len(paths))
	for _, path := range paths {
		gone[path] = true
	}
	next := &Part{}
	if p != nil {
		for _, b := range p.blocks {
			if b = b.without(gone); b.alive > 0 {
				next.blocks = append(next.blocks, b)
			}
		}
	}
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(len(a.Code), len(b.Code)), strings.Compare(a.Path, b.Path), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Scope, b.Scope), strings.Compare(a.ID, b.ID))
	})
	for len(members) > 0 {
		n := 1
		for n < min(len(members), maxInPartBlock) && len(members[n].Code) == len(members[0].Code) {
			n++
		}
		next.blocks = append(next.blocks, blockOf(members[:n]))
		members = members[n:]
	}
	next.tidy()
	return next
}

// blockOf returns a block of members of one dimension.
func blockOf(members []Member) *partBlock {
	b := &partBlock{}
	var ids strings.Builder
	for _, m := range members {
		ids.WriteString(m.ID)
		b.add(place{scope: m.Scope, kind: m.Kind, path: m.Path}, ids.Len(), m.Time.Unix(), m.Code)
	}
	b.ids = ids.String()
	return b
}

// add appends a row, the ID of which ends at endOfID.
func (b *partBlock) add(of place, endOfID int, at int64, code []byte) {
	b.size = len(code)
	b.codes = append(b.codes, code...)
	b.ends = append(b.ends, uint32(endOfID))
	b.times = append(b.times, at)
	b.alive++
	if last := len(b.runs) - 1; last < 0 || b.runs[last].place != of {
		b.runs = append(b.runs, run{place: of})
	}
	b.runs[len(b.runs)-1].end = b.alive
}

// without returns the block without documents; it may be b.
func (b *partBlock) without(gone map[string]bool) *partBlock {
	if len(gone) == 0 {
		return b
	}
	less := *b
	for i, r := range b.runs {
		if !gone[r.path] || b.isDead(i) {
			continue
		}
		if less.alive == b.alive {
			less.dead = make([]bool, len(b.runs))
			copy(less.dead, b.dead)
		}
		less.dead[i] = true
		less.alive -= r.end - b.begin(i)
	}
	return &less
}

func (b *partBlock) isDead(run int) bool { return b.dead != nil && b.dead[run] }

// begin is the first row of a run.
func (b *partBlock) begin(run int) int {
	if run == 0 {
		return 0
	}
	return b.runs[run-1].end
}

func (b *partBlock) id(row int) string {
	if row == 0 {
		return b.ids[:b.ends[0]]
	}
	return b.ids[b.ends[row-1]:b.ends[row]]
}

// tidy merges blocks, so that there are few and most of their rows live.
func (p *Part) tidy() {
	for i, b := range p.blocks {
		if b.alive < len(b.times)/2 {
			p.blocks[i] = merged(b)
		}
	}
	slices.SortStableFunc(p.blocks, func(a, b *partBlock) int { return cmp.Compare(b.alive, a.alive) })
	for {
		last := len(p.blocks) - 1
		if last < 1 || p.blocks[last-1].size != p.blocks[last].size || p.blocks[last-1].alive > 2*p.blocks[last].alive || p.blocks[last-1].alive+p.blocks[last].alive > maxInPartBlock {
			return
		}
		p.blocks = append(p.blocks[:last-1], merged(p.blocks[last-1], p.blocks[last]))
	}
}

// merged returns a block of the live rows of some.
func merged(some ...*partBlock) *partBlock {
	all := &partBlock{}
	var ids strings.Builder
	for _, b := range some {
		for i, r := range b.runs {
			if b.isDead(i) {
				continue
			}
			for row := b.begin(i); row < r.end; row++ {
				ids.WriteString(b.id(row))
				all.add(r.place, ids.Len(), b.times[row], b.codes[row*b.size:(row+1)*b.size])
			}
		}
	}
	all.ids = ids.String()
	return all
}

// Count is the number of vectors.
func (p *Part) Count() (n int) {
	if p != nil {
		for _, b := range p.blocks {
			n += b.alive
		}
	}
	return n
}

// Bytes is about how much memory the part takes.
func (p *Part) Bytes() (n int64) {
	if p == nil {
		return 0
	}
	for _, b := range p.blocks {
		n += int64(cap(b.codes) + len(b.ids) + 4*cap(b.ends) + 8*cap(b.times) + len(b.dead))
		for _, r := range b.runs {
			const head = 64
			n += head + int64(len(r.path))
		}
	}
	return n
}

// maxNear bounds the candidates beyond k, which all vectors that are nearly the same would be.
const maxNear = 1_000

// Candidates returns the IDs of vectors that pass a filter, among which are the k nearest of a
// query of length 1: k, and those that their codes do not rule out. Of more than a thousand of
// these it returns those that are the nearest by their codes.
func Candidates(ctx context.Context, parts []*Part, query []float32, k int, f store.Filter) ([]string, error) {
	if k <= 0 {
		return nil, nil
	}
	s := candidates{k: k, query: query, filter: f, slack: rounding(len(query)), least: -2, room: 4*k + blockSize}
	for _, p := range parts {
		if p == nil {
			continue
		}
		for _, b := range p.blocks {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if b.size == codeSize(len(query)) {
				s.block(b)
			}
		}
	}
	s.prune()
	ids := make([]string, len(s.found))
	for i, c := range s.found {
		ids[i] = c.block.id(c.row)
	}
	return ids, nil
}

// candidates are rows that may be among the k nearest.
type candidates struct {
	k      int
	query  []float32
	filter store.Filter
	slack  float32
	least  float32 // k cosines are not below it
	found  []candidate
	room   int // for found, until they are pruned
}

// A candidate has a cosine that is at most gap from what its code says.
type candidate struct {
	block       *partBlock
	row         int
	cosine, gap float32
}

func (s *candidates) block(b *partBlock) {
	for first := 0; first < len(b.runs); {
		if !s.passes(b, first) {
			first++
			continue
		}
		next := first + 1
		for next < len(b.runs) && s.passes(b, next) {
			next++
		}
		for lo, end := b.begin(first), b.runs[next-1].end; lo < end; lo += blockSize {
			s.rows(b, lo, min(lo+blockSize, end))
		}
		first = next
	}
}

func (s *candidates) passes(b *partBlock, run int) bool {
	r := &b.runs[run]
	return !b.isDead(run) && s.filter.Passes(r.scope, r.kind, r.path)
}

// rows looks at rows whose places pass.
func (s *candidates) rows(b *partBlock, lo, hi int) {
	var scores [blockSize]float32
	dot.CodeProducts(s.query, b.codes[lo*b.size+codeHead:], b.size, scores[:hi-lo])
	for row := lo; row < hi; row++ {
		head := floatsOf(b.codes[row*b.size : row*b.size+codeHead])
		c := candidate{b, row, scores[row-lo] * head[0], head[1] + s.slack}
		if c.cosine+c.gap >= s.least && s.filter.PassesAt(time.Unix(b.times[row], 0)) {
			s.found = append(s.found, c)
		}
	}
	if len(s.found) >= s.room {
		s.prune()
		s.room = max(s.room, 2*len(s.found))
	}
}

// prune removes rows that are not among the k nearest.
func (s *candidates) prune() {
	if len(s.found) <= s.k {
		return
	}
	bounds := make([]float32, len(s.found))
	for i, c := range s.found {
		bounds[i] = c.cosine - c.gap
	}
	slices.Sort(bounds)
	s.least = bounds[len(bounds)-s.k]
	s.found = slices.DeleteFunc(s.found, func(c candidate) bool { return c.cosine+c.gap < s.least })
	if most := s.k + maxNear; len(s.found) > most {
		slices.SortFunc(s.found, func(a, b candidate) int { return cmp.Compare(b.cosine, a.cosine) })
		s.found = s.found[:most]
	}
}
