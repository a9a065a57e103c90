package wordpiece

import (
	"math/bits"
	"strings"
)

// A trie finds the longest piece at a text's start. Its edges are in an open hash table, fast to
// build and search.
type trie struct {
	edges []edge // a power of two, at most half full
	shift uint   // turns a product into a place in edges
	ids   []int32
	used  int // edges
}

// An edge leads from a node by a byte to another, never 0: the zero edge is empty.
type edge struct{ key, to uint32 }

// Searches start at root or, within a word, at continued.
const (
	root      uint32 = 0
	continued uint32 = 1
)

// none marks nodes at which no piece ends.
const none int32 = -1

func newTrie(words string) *trie {
	t := &trie{ids: []int32{none, none}}
	t.resize(1 << 18)
	id := int32(0)
	for word := range strings.Lines(words) {
		word = strings.TrimSuffix(word, "\n")
		if rest, ok := strings.CutPrefix(word, "##"); ok && rest != "" {
			t.insert(continued, rest, id)
		} else {
			t.insert(root, word, id)
		}
		id++
	}
	return t
}

func (t *trie) resize(n int) {
	old := t.edges
	t.edges, t.shift = make([]edge, n), uint(64-bits.TrailingZeros(uint(n)))
	for _, e := range old {
		if e.to != 0 {
			*t.place(e.key) = e
		}
	}
}

// place returns a key's slot, or the free one for it.
func (t *trie) place(key uint32) *edge {
	mask := len(t.edges) - 1
	for i := int(uint64(key) * 0x9e3779b97f4a7c15 >> t.shift); ; i++ {
		e := &t.edges[i&mask]
		if e.to == 0 || e.key == key {
			return e
		}
	}
}

func (t *trie) insert(node uint32, word string, id int32) {
	for i := range len(word) {
		node = t.child(node, word[i])
	}
	t.ids[node] = id
}

// child makes a missing node.
func (t *trie) child(node uint32, c byte) uint32 {
	key := node<<8 | uint32(c)
	e := t.place(key)
	if e.to == 0 {
		if t.used++; 2*t.used > len(t.edges) {
			t.resize(2 * len(t.edges))
			e = t.place(key)
		}
		*e = edge{key, uint32(len(t.ids))}
		t.ids = append(t.ids, none)
	}
	return e.to
}

// longest returns the longest piece and its length, or 0.
func (t *trie) longest(node uint32, text []byte) (id int32, n int) {
	for i, c := range text {
		if node = t.place(node<<8 | uint32(c)).to; node == 0 {
			break
		}
		if t.ids[node] != none {
			id, n = t.ids[node], i+1
		}
	}
	return id, n
}

// find returns the id of a whole word.
func (t *trie) find(word string) (int32, bool) {
	id, n := t.longest(root, []byte(word))
	return id, n == len(word) && n > 0
}
