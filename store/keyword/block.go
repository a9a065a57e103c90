package keyword

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/memcore/memcore/store"
)

// A block holds some records of a Part and their postings. It never changes; which of its records
// are dead is kept beside it.
type block struct {
	rows     []row
	of       []int32              // by row: its document, or -1 for a statement
	sizes    [][fieldCount]uint32 // by row
	total    lengths
	traits   []int          // by number in names: how many rows have them
	texts    []numberedText // of the rows that are no statements, in order
	repeated []numberedText // those of texts that several rows have
	byID     slots
	dictionary
}

// A row is what is known of a record beside its words.
type row struct {
	id       string
	document int32 // number in names
	traits   int32 // number in names
	time     int64 // in seconds since 1970
}

// find returns the row with an ID, or -1.
func (b *block) find(id string) int {
	return b.byID.find(maphash.String(seed, id), func(i int) bool { return b.rows[i].id == id })
}

// bytes is about what the block takes.
func (b *block) bytes() int64 {
	n := (32+4+4*fieldCount)*len(b.rows) + 16*(len(b.texts)+len(b.repeated)) + 4*len(b.byID) +
		len(b.text) + len(b.lists) + 8*len(b.ends) + 4*len(b.byTerm)
	for _, r := range b.rows {
		n += len(r.id)
	}
	return int64(n)
}

// A dictionary has the postings of terms: for each term a byte with its fields, and for each field
// the number of rows, the size of the entries, and the entries. An entry is how far its row is from
// the one before, doubled. If the row has the term not once, it is odd, and how often follows.
type dictionary struct {
	text   []byte   // the terms, in order
	ends   []uint32 // of terms in text
	lists  []byte   // their postings
	until  []uint32 // ends of terms in lists
	byTerm slots
}

// slots find numbers by hashes: a hash table with open addressing, half the size of a map.
type slots []uint32

var seed = maphash.MakeSeed()

func newSlots(n int) slots {
	size := 4
	for size < n+n/2 {
		size *= 2
	}
	return make(slots, size)
}

func (s slots) add(hash uint64, number int) {
	for at := int(hash) & (len(s) - 1); ; at = (at + 1) & (len(s) - 1) {
		if s[at] == 0 {
			s[at] = uint32(number + 1)
			return
		}
	}
}

func (s slots) find(hash uint64, is func(number int) bool) int {
	for at := int(hash) & (len(s) - 1); s[at] != 0; at = (at + 1) & (len(s) - 1) {
		if number := int(s[at] - 1); is(number) {
			return number
		}
	}
	return -1
}

func between(all []byte, ends []uint32, i int) []byte {
	if i == 0 {
		return all[:ends[0]]
	}
	return all[ends[i-1]:ends[i]]
}

func (d *dictionary) term(i int) []byte { return between(d.text, d.ends, i) }

// postingsOf returns those of a term in a field.
func (d *dictionary) postingsOf(term []byte, field int) (count int, entries blockPostings) {
	i := d.byTerm.find(maphash.Bytes(seed, term), func(i int) bool { return bytes.Equal(d.term(i), term) })
	if i < 0 {
		return 0, noPostings
	}
	return d.postingsAt(i, field)
}

func (d *dictionary) postingsAt(i, field int) (count int, entries blockPostings) {
	list := between(d.lists, d.until, i)
	fields := list[0]
	if fields>>field&1 == 0 {
		return 0, noPostings
	}
	list = list[1:]
	for f := 0; ; f++ {
		if fields>>f&1 == 0 {
			continue
		}
		n, width := binary.Uvarint(list)
		size, more := binary.Uvarint(list[width:])
		list = list[width+more:]
		if f == field {
			return int(n), blockPostings{rest: list[:size], row: -1}
		}
		list = list[size:]
	}
}

// blockPostings are the entries of a term in a field.
type blockPostings struct {
	rest      []byte
	row       int
	frequency uint64
}

var noPostings = blockPostings{}

func (p *blockPostings) next() bool {
	if len(p.rest) == 0 {
		return false
	}
	step := p.number()
	p.row += int(step >> 1)
	if p.frequency = 1; step&1 == 1 {
		p.frequency = p.number()
	}
	return true
}

func (p *blockPostings) number() uint64 {
	if c := p.rest[0]; c < 0x80 {
		p.rest = p.rest[1:]
		return uint64(c)
	}
	n, size := binary.Uvarint(p.rest)
	p.rest = p.rest[size:]
	return n
}

// A blockBuilder takes rows, then terms in order, and of each its fields and rows in order.
type blockBuilder struct {
	block
	entries []byte // of the field
	count   int
	last    int
}

func (b *blockBuilder) addRow(r row, size [fieldCount]uint32, statement bool) {
	b.rows = append(b.rows, r)
	b.sizes = append(b.sizes, size)
	for field, n := range size {
		b.total[field] += int64(n)
	}
	for len(b.traits) <= int(r.traits) {
		b.traits = append(b.traits, 0)
	}
	b.traits[r.traits]++
	if statement {
		r.document = -1
	}
	b.of = append(b.of, r.document)
}

func (b *blockBuilder) beginTerm() {
	b.lists = append(b.lists, 0)
	b.last = -1
}

func (b *blockBuilder) addEntry(row int, frequency uint64) {
	step := uint64(row-b.last) << 1
	b.last = row
	b.count++
	if frequency == 1 {
		b.entries = binary.AppendUvarint(b.entries, step)
		return
	}
	b.entries = binary.AppendUvarint(b.entries, step|1)
	b.entries = binary.AppendUvarint(b.entries, frequency)
}

// endField ends a field of the term, which has begun at start.
func (b *blockBuilder) endField(start, field int) {
	if b.count > 0 {
		b.lists[start] |= 1 << field
		b.lists = binary.AppendUvarint(b.lists, uint64(b.count))
		b.lists = binary.AppendUvarint(b.lists, uint64(len(b.entries)))
		b.lists = append(b.lists, b.entries...)
	}
	b.entries, b.count, b.last = b.entries[:0], 0, -1
}

// endTerm drops a term without entries.
func (b *blockBuilder) endTerm(start int, term []byte) {
	if b.lists[start] == 0 {
		b.lists = b.lists[:start]
		return
	}
	b.text = append(b.text, term...)
	b.ends = append(b.ends, uint32(len(b.text)))
	b.until = append(b.until, uint32(len(b.lists)))
}

// finish returns the block in memory of its size, with one text for all IDs.
func (b *blockBuilder) finish() *block {
	var all strings.Builder
	for _, r := range b.rows {
		all.WriteString(r.id)
	}
	ids := all.String()
	b.byID = newSlots(len(b.rows))
	for i := range b.rows {
		r := &b.rows[i]
		r.id, ids = ids[:len(r.id)], ids[len(r.id):]
		b.byID.add(maphash.String(seed, r.id), i)
	}
	b.byTerm = newSlots(len(b.ends))
	for i := range b.ends {
		b.byTerm.add(maphash.Bytes(seed, b.term(i)), i)
	}
	slices.SortFunc(b.texts, compareTexts)
	for rest := b.texts; len(rest) > 0; {
		same := equalTexts(rest)
		if len(same) > 1 {
			b.repeated = append(b.repeated, same...)
		}
		rest = rest[len(same):]
	}
	done := b.block
	done.rows, done.of, done.sizes, done.texts = clipped(b.rows), clipped(b.of), clipped(b.sizes), clipped(b.texts)
	done.text, done.ends, done.lists, done.until = clipped(b.text), clipped(b.ends), clipped(b.lists), clipped(b.until)
	return &done
}

// clipped returns all in memory of its size.
func clipped[T any](all []T) []T { return append(make([]T, 0, len(all)), all...) }

// newBlock builds a block of members that have different IDs.
func newBlock(members []Member, n *names) *block {
	type use struct {
		term, row uint32
		field     uint32
		frequency uint32
	}
	var (
		b     blockBuilder
		all   []use
		terms []string
		known = map[string]uint32{}
	)
	for i, m := range members {
		words, err := m.Words.read()
		if err != nil {
			words = &wordsReader{} // none, as of a Member without Words
		}
		b.addRow(row{m.ID, n.document(m.Path), n.traitsOf(traits{m.Scope, m.Kind, string(words.language)}), m.Time.Unix()}, words.size, m.Kind == store.KindStatement)
		if words.sum != 0 {
			b.texts = append(b.texts, numberedText{words.sum, int32(i)})
		}
		for {
			if more, err := words.next(); !more || err != nil {
				break
			}
			term, ok := known[string(words.term)]
			if !ok {
				term = uint32(len(terms))
				terms = append(terms, string(words.term))
				known[terms[term]] = term
			}
			for field, n := range words.uses {
				if n > 0 {
					all = append(all, use{term, uint32(i), uint32(field), uint32(n)})
				}
			}
		}
	}
	// Terms in order, and a list's rows in order.
	sorted := make([]uint32, len(terms))
	for i := range sorted {
		sorted[i] = uint32(i)
	}
	slices.SortFunc(sorted, func(a, b uint32) int { return strings.Compare(terms[a], terms[b]) })
	ends := make([]int, len(terms)*fieldCount+1) // of lists, by term and field
	for _, u := range all {
		ends[int(u.term)*fieldCount+int(u.field)+1]++
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	grouped := make([]use, len(all))
	at := slices.Clone(ends)
	for _, u := range all {
		list := int(u.term)*fieldCount + int(u.field)
		grouped[at[list]] = u
		at[list]++
	}
	for _, term := range sorted {
		start := len(b.lists)
		b.beginTerm()
		for field := range fieldCount {
			list := int(term)*fieldCount + field
			for _, u := range grouped[ends[list]:ends[list+1]] {
				b.addEntry(int(u.row), uint64(u.frequency))
			}
			b.endField(start, field)
		}
		b.endTerm(start, []byte(terms[term]))
	}
	return b.finish()
}

// merge builds a block of the live rows of others. renumber is nil unless numbers in names change.
func merge(pieces []*living, renumber func(*row)) *block {
	var b blockBuilder
	moved := make([][]int32, len(pieces)) // new numbers of rows; -1 for dead ones
	for i, p := range pieces {
		moved[i] = make([]int32, len(p.rows))
		for at, r := range p.rows {
			if p.dead.has(at) {
				moved[i][at] = -1
				continue
			}
			moved[i][at] = int32(len(b.rows))
			if renumber != nil {
				renumber(&r)
			}
			b.addRow(r, p.sizes[at], p.of[at] < 0)
		}
		for _, t := range p.texts {
			if number := moved[i][t.row]; number >= 0 {
				b.texts = append(b.texts, numberedText{t.sum, number})
			}
		}
	}
	at := make([]int, len(pieces)) // the next term of each
	for {
		var term []byte // the first of them
		more := false
		for i, p := range pieces {
			if at[i] < len(p.ends) && (!more || bytes.Compare(p.term(at[i]), term) < 0) {
				term, more = p.term(at[i]), true
			}
		}
		if !more {
			return b.finish()
		}
		start := len(b.lists)
		b.beginTerm()
		var with []int // pieces that have it
		for i, p := range pieces {
			if at[i] < len(p.ends) && bytes.Equal(p.term(at[i]), term) {
				with = append(with, i)
			}
		}
		for field := range fieldCount {
			for _, i := range with {
				_, entries := pieces[i].postingsAt(at[i], field)
				for entries.next() {
					if row := moved[i][entries.row]; row >= 0 {
						b.addEntry(int(row), entries.frequency)
					}
				}
			}
			b.endField(start, field)
		}
		b.endTerm(start, term)
		for _, i := range with {
			at[i]++
		}
	}
}
