package keyword

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// A Part holds the words of some records in memory, without their texts: what an Index keeps on
// disk for Match and Scores. Readers search parts. It is immutable, and safe for concurrent use. A
// nil *Part is empty.
type Part struct {
	names  *names
	paths  []string // of names, as far as this part uses them
	traits []traits
	blocks []*living
	count  int

	laidOut   sync.Once
	documents *layout
}

// A Member is a record of a Part.
type Member struct {
	ID    string // unique in all parts that are searched together
	Path  string // of the document; parts that are searched together have none in common
	Kind  string
	Scope string
	Time  time.Time
	Words Words // not kept
}

// A PartChange changes the records of a part: those of Paths and those with IDs go, if there are
// any; then Members come, each in the place of a record with its ID.
type PartChange struct {
	Paths, IDs []string
	Members    []Member
}

// living is a block of a part.
type living struct {
	*block
	dead  rowSet
	alive int
	first int // number of its first row in the part
}

func (l *living) live() int    { return l.alive }
func (l *living) records() int { return len(l.rows) }

// rowSet is a set of rows; nil is empty.
type rowSet []uint64

func (s rowSet) has(i int) bool { return s != nil && s[i/64]>>(i%64)&1 == 1 }

// names number what many records of a part have in common. All parts that follow each other share
// them: a number never changes.
type names struct {
	mu         sync.Mutex
	byPath     map[string]int32
	paths      []string
	byTraits   map[traits]int32
	traitsList []traits
}

type traits struct{ scope, kind, language string }

func newNames() *names {
	return &names{byPath: map[string]int32{}, byTraits: map[traits]int32{}}
}

func (n *names) document(path string) int32 { return number(n, n.byPath, &n.paths, path) }
func (n *names) traitsOf(t traits) int32    { return number(n, n.byTraits, &n.traitsList, t) }

func number[T comparable](n *names, known map[T]int32, all *[]T, name T) int32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, ok := known[name]
	if !ok {
		at = int32(len(*all))
		known[name] = at
		*all = append(*all, name)
	}
	return at
}

// known returns the number of a path, or -1.
func (n *names) known(path string) int32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, ok := n.byPath[path]; ok {
		return at
	}
	return -1
}

// now returns what has a number.
func (n *names) now() ([]string, []traits) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clip(n.paths), slices.Clip(n.traitsList)
}

// NewPart returns a part of these records.
func NewPart(members []Member) *Part { return (*Part)(nil).With(PartChange{Members: members}) }

// maxInBlock bounds the memory that it takes to build a block.
const maxInBlock = 8_000

// With returns p after a change; p stays as it is, and shares memory with what is returned. A small
// change of a large part takes less than a millisecond, but now and then one merges what others
// left.
func (p *Part) With(c PartChange) *Part {
	if p == nil {
		p = &Part{names: newNames()}
	}
	members := lastOfEachID(c.Members)
	next := &Part{names: p.names}
	for _, l := range p.blocks {
		if l = l.without(p.rowsToRemove(l, c, members)); l.alive > 0 {
			next.blocks = append(next.blocks, l)
			next.count += l.alive
		}
	}
	next.blocks = append(next.blocks, newBlocks(members, next.names)...)
	next.count += len(members)
	next.tidy()
	next.paths, next.traits = next.names.now()
	return next
}

// newBlocks builds blocks of members on all processors.
func newBlocks(members []Member, n *names) []*living {
	for _, m := range members {
		n.document(m.Path) // so that its number is not that of who was first
	}
	var all []*living
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for some := range slices.Chunk(members, maxInBlock) {
		l := &living{alive: len(some)}
		all = append(all, l)
		group.Go(func() error { l.block = newBlock(some, n); return nil })
	}
	_ = group.Wait() // none fails
	return all
}

// lastOfEachID returns the last of the members with an ID.
func lastOfEachID(members []Member) []Member {
	last := make(map[string]int, len(members))
	for i, m := range members {
		last[m.ID] = i
	}
	if len(last) == len(members) {
		return members
	}
	var all []Member
	for i, m := range members {
		if last[m.ID] == i {
			all = append(all, m)
		}
	}
	return all
}

// rowsToRemove returns live rows of a block that a change removes or replaces.
func (p *Part) rowsToRemove(l *living, c PartChange, members []Member) (rows []int) {
	if len(c.Paths) > 0 {
		gone := make([]bool, len(p.paths)) // by number of the document
		for _, path := range c.Paths {
			if at := p.names.known(path); 0 <= at && int(at) < len(gone) {
				gone[at] = true
			}
		}
		for i := range l.rows {
			if gone[l.rows[i].document] && !l.dead.has(i) {
				rows = append(rows, i)
			}
		}
	}
	find := func(id string) {
		if i := l.find(id); i >= 0 && !l.dead.has(i) {
			rows = append(rows, i)
		}
	}
	for _, id := range c.IDs {
		find(id)
	}
	for _, m := range members {
		find(m.ID)
	}
	return rows
}

// without returns the block without rows; it may be l.
func (l *living) without(rows []int) *living {
	if len(rows) == 0 {
		return l
	}
	less := &living{block: l.block, alive: l.alive, dead: slices.Clone(l.dead)}
	if less.dead == nil {
		less.dead = make(rowSet, (len(l.rows)+63)/64)
	}
	for _, i := range rows {
		if !less.dead.has(i) {
			less.dead[i/64] |= 1 << (i % 64)
			less.alive--
		}
	}
	return less
}

// tidy merges blocks by the rule for segments, and numbers the records. All are merged once most
// names are of documents that are gone.
func (p *Part) tidy() {
	slices.SortStableFunc(p.blocks, func(a, b *living) int { return cmp.Compare(a.alive, b.alive) })
	const spare = 1_000
	merged, kept := divide(p.blocks)
	var renumber func(*row)
	if paths, list := p.names.now(); len(paths) > 2*p.count+spare {
		merged, kept, p.names = p.blocks, nil, newNames()
		renumber = func(r *row) {
			r.document, r.traits = p.names.document(paths[r.document]), p.names.traitsOf(list[r.traits])
		}
	}
	if len(merged) > 0 {
		together := merge(merged, renumber)
		kept = append(kept, &living{block: together, alive: len(together.rows)})
	}
	p.blocks = make([]*living, len(kept))
	first := 0
	for i, l := range kept {
		p.blocks[i] = &living{l.block, l.dead, l.alive, first}
		first += len(l.rows)
	}
}

// Count is the number of records.
func (p *Part) Count() int {
	if p == nil {
		return 0
	}
	return p.count
}

// Bytes is about how much memory the part takes.
func (p *Part) Bytes() int64 {
	if p == nil {
		return 0
	}
	var n int64
	for _, l := range p.blocks {
		const laidOut = 4 + 4 // of a row, in documents
		n += l.bytes() + int64(8*len(l.dead)) + laidOut*int64(len(l.rows))
	}
	for _, path := range p.paths {
		const named = 64 // in names and documents
		n += named + int64(len(path))
	}
	return n
}

// layout computes what a search needs to know of all records.
func (p *Part) layout() *layout {
	p.laidOut.Do(func() { p.documents = p.readLayout() })
	return p.documents
}

func (p *Part) readLayout() *layout {
	rows := 0
	for _, b := range p.blocks {
		rows += len(b.rows)
	}
	l := &layout{of: make([]int32, 0, rows), sizes: make([]int32, len(p.paths)), all: p.count}
	for _, b := range p.blocks {
		l.of = append(l.of, b.of...)
		l.total.add(b.total)
		b.eachDead(func(i int) {
			l.of[b.first+i] = -1
			l.total.subtract(b.size(i))
		})
	}
	for _, document := range l.of {
		if document >= 0 {
			l.sizes[document]++
			l.records++
		}
	}
	for i, records := range p.byTraits() {
		if records > 0 {
			l.addSpoken(languageOf(p.traits[i].language))
		}
	}
	l.originals = slices.Clone(l.sizes)
	var all []blockTexts
	for _, b := range p.blocks {
		of := blockTexts{p, b, b.first, b.texts}
		for rest := b.repeated; len(rest) > 0; {
			same := equalTexts(rest)
			l.unite(of.copied(nil, same))
			rest = rest[len(same):]
		}
		all = append(all, of)
	}
	l.uniteBetween(all)
	l.finish()
	return l
}

// byTraits counts live records by their traits.
func (p *Part) byTraits() []int {
	all := make([]int, len(p.traits))
	for _, b := range p.blocks {
		for i, n := range b.traits {
			all[i] += n
		}
		b.eachDead(func(i int) { all[b.rows[i].traits]-- })
	}
	return all
}

func (l *living) eachDead(do func(row int)) {
	for at, some := range l.dead {
		for ; some != 0; some &= some - 1 {
			do(64*at + bits.TrailingZeros64(some))
		}
	}
}

func (b *block) size(row int) (size lengths) {
	for field, n := range b.sizes[row] {
		size[field] = int64(n)
	}
	return size
}

func (r *row) when() time.Time { return time.Unix(r.time, 0).UTC() }

// blockOf returns the block of a number, and the row.
func blockOf(blocks []*living, number int) (*living, int) {
	at := len(blocks) - 1
	for blocks[at].first > number {
		at--
	}
	return blocks[at], number - blocks[at].first
}
