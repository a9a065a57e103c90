package unigram

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// A trie finds all pieces at a text's start. Its nodes lie in a file level by level, the children
// of a node side by side and sorted, so that it needs no building. Node 0 is the root, and the last
// node ends the last one's children.
type trie struct {
	nodes []byte
	roots [256]uint32 // children of the root by byte; 0 is none
}

// A node is its first child's number times 256, plus the byte that leads to the node, in four
// bytes, and the id of the piece that ends here, or -1, in four.
const nodeBytes = 8

// none is the id of nodes at which no piece ends.
const none int32 = -1

func newTrie(pieces []string) []byte {
	order := make([]int32, 0, len(pieces))
	for id, piece := range pieces {
		if piece != "" {
			order = append(order, int32(id))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(pieces[a], pieces[b]) })
	// A span of order begins with the same bytes, which lead to a node.
	type span struct{ from, to, depth int }
	queue := []span{{0, len(order), 0}}
	nodes := binary.LittleEndian.AppendUint64(nil, 0)
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		id := none
		if s.from < s.to && len(pieces[order[s.from]]) == s.depth {
			id = order[s.from]
			s.from++
		}
		setNode(nodes, i, uint32(len(queue)), id)
		for s.from < s.to {
			c := pieces[order[s.from]][s.depth]
			end := s.from
			for end < s.to && pieces[order[end]][s.depth] == c {
				end++
			}
			queue = append(queue, span{s.from, end, s.depth + 1})
			nodes = binary.LittleEndian.AppendUint64(nodes, uint64(c))
			s.from = end
		}
	}
	nodes = binary.LittleEndian.AppendUint64(nodes, 0)
	setNode(nodes, len(queue), uint32(len(queue)), none)
	return nodes
}

// setNode keeps the byte that leads to node i.
func setNode(nodes []byte, i int, child uint32, id int32) {
	node := nodes[i*nodeBytes:]
	binary.LittleEndian.PutUint32(node, child<<8|uint32(node[0]))
	binary.LittleEndian.PutUint32(node[4:], uint32(id))
}

// check makes all later reads safe.
func (t *trie) check(pieces int) error {
	n := len(t.nodes) / nodeBytes
	if n < 2 || n > 1<<24 {
		return fmt.Errorf("%w: a trie of %d nodes", ErrFormat, n)
	}
	before := uint32(1)
	for i := range n {
		first := t.first(uint32(i))
		if first < before || first <= uint32(i) && i < n-1 || first > uint32(n-1) {
			return fmt.Errorf("%w: node %d of the trie has children from %d", ErrFormat, i, first)
		}
		if id := t.id(uint32(i)); id < none || int(id) >= pieces {
			return fmt.Errorf("%w: node %d of the trie has piece %d of %d", ErrFormat, i, id, pieces)
		}
		before = first
	}
	if before != uint32(n-1) {
		return fmt.Errorf("%w: a node of the trie has no parent", ErrFormat)
	}
	return nil
}

// spread makes the root's children quick to find.
func (t *trie) spread() {
	for i := t.first(0); i < t.first(1); i++ {
		t.roots[t.label(i)] = i
	}
}

func (t *trie) first(node uint32) uint32 {
	return binary.LittleEndian.Uint32(t.nodes[node*nodeBytes:]) >> 8
}

func (t *trie) label(node uint32) byte { return t.nodes[node*nodeBytes] }

// id returns the piece that ends at a node, or none.
func (t *trie) id(node uint32) int32 {
	return int32(binary.LittleEndian.Uint32(t.nodes[node*nodeBytes+4:]))
}

// root returns the root's child, or 0.
func (t *trie) root(c byte) uint32 { return t.roots[c] }

// child returns a node's child, or 0.
func (t *trie) child(node uint32, c byte) uint32 {
	low, end := t.first(node), t.first(node+1)
	for high := end; high-low > 4; {
		if middle := (low + high) / 2; t.label(middle) <= c {
			low = middle
		} else {
			high, end = middle, middle
		}
	}
	for ; low < end; low++ {
		if t.label(low) == c {
			return low
		}
	}
	return 0
}
