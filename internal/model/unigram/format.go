package unigram

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"
)

// A Vocabulary is what a Tokenizer is made from.
type Vocabulary struct {
	Pieces  []string        // by id; "" for tokens that no text has, such as the first of all
	Scores  []float32       // logarithms of the pieces' probabilities
	Unknown int32           // token of what no piece has
	Normal  map[rune]string // replacements of characters, before composition (NFC)
}

// ErrFormat means that bytes are no tokeniser.
var ErrFormat = errors.New("not a Unigram tokeniser")

// Append appends v's bytes: counts of nodes, pieces and replacements, and the unknown token, four
// bytes each, little-endian; then the trie's nodes, the scores, and for each replaced character
// its code point, the length of what replaces it, and that.
func (v Vocabulary) Append(data []byte) []byte {
	nodes := newTrie(v.Pieces)
	for _, n := range []int{len(nodes) / nodeBytes, len(v.Pieces), len(v.Normal), int(v.Unknown)} {
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	data = append(data, nodes...)
	for _, score := range v.Scores {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(score))
	}
	for _, r := range slices.Sorted(maps.Keys(v.Normal)) {
		data = binary.LittleEndian.AppendUint32(data, uint32(r))
		data = binary.LittleEndian.AppendUint32(data, uint32(len(v.Normal[r])))
		data = append(data, v.Normal[r]...)
	}
	return data
}

// header is four counts.
const header = 16

// Parse returns a Tokenizer that refers to data, which must not change. Errors are ErrFormat.
func Parse(data []byte) (*Tokenizer, error) {
	if len(data) < header {
		return nil, fmt.Errorf("%w: %d bytes", ErrFormat, len(data))
	}
	count := func(i int) uint64 { return uint64(binary.LittleEndian.Uint32(data[4*i:])) }
	nodes, pieces, replaced, unknown := count(0), count(1), count(2), count(3)
	rest := uint64(len(data) - header)
	if nodes*nodeBytes+pieces*4+replaced*8 > rest || unknown >= pieces || pieces > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d nodes, %d pieces, %d replacements and token %d in %d bytes", ErrFormat, nodes, pieces, replaced, unknown, len(data))
	}
	t := &Tokenizer{unknown: int32(unknown)}
	data = data[header:]
	if err := t.readPieces(data[:nodes*nodeBytes], int(pieces)); err != nil {
		return nil, err
	}
	data = data[nodes*nodeBytes:]
	t.readScores(data[:pieces*4])
	if err := t.readNormal(data[pieces*4:], int(replaced)); err != nil {
		return nil, err
	}
	t.scans.New = func() any { return &scan{t: t} }
	return t, nil
}

func (t *Tokenizer) readPieces(nodes []byte, pieces int) error {
	t.pieces = trie{nodes: nodes}
	if err := t.pieces.check(pieces); err != nil {
		return err
	}
	t.pieces.spread()
	return nil
}

func (t *Tokenizer) readScores(data []byte) {
	t.scores = make([]float32, len(data)/4)
	least := float32(0)
	for i := range t.scores {
		t.scores[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		least = min(least, t.scores[i])
	}
	t.penalty = least - unknownPenalty
}

func (t *Tokenizer) readNormal(data []byte, n int) error {
	t.normal = make(map[rune]string, n)
	for range n {
		if len(data) < 8 {
			return fmt.Errorf("%w: replacements end early", ErrFormat)
		}
		r, size := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])
		if data = data[8:]; r > utf8.MaxRune || uint64(size) > uint64(len(data)) || !utf8.Valid(data[:size]) {
			return fmt.Errorf("%w: replacement of U+%04X has %d bytes", ErrFormat, r, size)
		}
		t.normal[rune(r)] = string(data[:size])
		data = data[size:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrFormat, len(data))
	}
	for c := range t.ascii {
		to, ok := t.normal[rune(c)]
		switch {
		case c == ' ' || ok && to == " ":
			t.ascii[c] = space
		case ok:
			t.ascii[c] = other
		}
	}
	return nil
}
