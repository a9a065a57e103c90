package wordpiece

import (
	"math/bits"
	"strings"
)

// A kind of pieces begins words, the other continues them.
type kind uint32

const (
	initial kind = iota
	continued
)

// pieces find the longest piece at a text's start. They are an open hash table of whole pieces:
// each process that embeds makes it first, and the edges of a trie take ten times as long.
type pieces struct {
	words  string   // one a line
	starts []uint32 // of the pieces in words, by id
	slots  []slot   // a power of two, at most half full
	shift  uint     // turns a product into a place in slots
	// lengths has a bit for each length in bytes of the pieces of a kind that begin with a byte;
	// the last bit is for all that are longer.
	lengths [2][256]uint64
}

// A slot is of a piece. The zero slot is empty.
type slot struct {
	tag   uint32 // a part of the hash
	piece uint32 // twice the number after its id, plus its kind
}

func (s slot) id() int32 { return int32(s.piece>>1) - 1 }

// maxLength is the last bit of lengths.
const maxLength = 63

func newPieces(words string) *pieces {
	n := strings.Count(words, "\n") + 1
	p := &pieces{words: words, starts: make([]uint32, 0, n), slots: make([]slot, 1<<bits.Len(uint(2*n-1)))}
	p.shift = uint(64 - bits.TrailingZeros(uint(len(p.slots))))
	for at := 0; at < len(words); {
		start, end := at, len(words)
		if n := strings.IndexByte(words[at:], '\n'); n >= 0 {
			end = at + n
		}
		at = end + 1
		k := initial
		if strings.HasPrefix(words[start:end], "##") && end-start > 2 {
			start, k = start+2, continued
		}
		p.starts = append(p.starts, uint32(start))
		if start < end {
			p.insert(k, words[start:end])
		}
	}
	return p
}

// insert adds the piece that starts has last. Of equal ones the last counts.
func (p *pieces) insert(k kind, piece string) {
	hash := begin(k)
	for i := range len(piece) {
		hash = with(hash, piece[i])
	}
	text := []byte(piece)
	p.slots[p.place(k, hash, text)] = slot{uint32(hash), uint32(len(p.starts))<<1 | uint32(k)}
	p.lengths[k][piece[0]] |= 1 << min(len(piece), maxLength)
}

// begin and with make the hash of a piece, byte by byte: FNV-1a.
func begin(k kind) uint64             { return 0xcbf29ce484222325 ^ uint64(k)<<32 }
func with(hash uint64, c byte) uint64 { return (hash ^ uint64(c)) * 0x100000001b3 }

// place returns where a piece is in slots, or the free one for it.
func (p *pieces) place(k kind, hash uint64, piece []byte) int {
	mask := len(p.slots) - 1
	for i := int(hash * 0x9e3779b97f4a7c15 >> p.shift); ; i++ {
		s := p.slots[i&mask]
		if s.piece == 0 || s.tag == uint32(hash) && kind(s.piece&1) == k && p.is(s.id(), piece) {
			return i & mask
		}
	}
}

// is reports whether a piece has that text.
func (p *pieces) is(id int32, text []byte) bool {
	rest := p.words[p.starts[id]:]
	return len(rest) >= len(text) && rest[:len(text)] == string(text) && (len(rest) == len(text) || rest[len(text)] == '\n')
}

// longest returns the longest piece and its length, or 0.
func (p *pieces) longest(k kind, text []byte) (id int32, n int) {
	lengths := p.lengths[k][text[0]]
	if lengths>>maxLength != 0 && len(text) >= maxLength {
		if id, n := p.longestOfLong(k, text); n > 0 {
			return id, n
		}
	}
	lengths &= 1<<min(len(text)+1, maxLength) - 1
	var hashes [maxLength]uint64 // of the text's beginnings, by length
	hash := begin(k)
	for i := range bits.Len64(lengths) - 1 {
		hash = with(hash, text[i])
		hashes[i+1] = hash
	}
	for ; lengths != 0; lengths &^= 1 << n {
		n = bits.Len64(lengths) - 1
		if s := p.slots[p.place(k, hashes[n], text[:n])]; s.piece != 0 {
			return s.id(), n
		}
	}
	return 0, 0
}

// longestOfLong looks for pieces of maxLength and more.
func (p *pieces) longestOfLong(k kind, text []byte) (id int32, n int) {
	hash := begin(k)
	for i, c := range text {
		hash = with(hash, c)
		if i+1 < maxLength {
			continue
		}
		if s := p.slots[p.place(k, hash, text[:i+1])]; s.piece != 0 {
			id, n = s.id(), i+1
		}
	}
	return id, n
}

// find returns the id of a whole word.
func (p *pieces) find(word string) (int32, bool) {
	id, n := p.longest(initial, []byte(word))
	return id, n == len(word) && n > 0
}
