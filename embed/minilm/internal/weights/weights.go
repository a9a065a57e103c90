// Package weights reads and writes the file of the built-in model.
//
// Matrices are signed bytes in the order of multiplication, with a scale for every 32 numbers (64
// in word embeddings). The file is used in place: only 2 MB of it is unpacked.
package weights

import (
	"errors"
	"fmt"
)

// The shape of all-MiniLM-L6-v2.
const (
	Hidden       = 384
	Heads        = 12
	Intermediate = 1536
	Layers       = 6
	Positions    = 256 // tokens the model reads at once, with [CLS] and [SEP]
	Vocabulary   = 30522
)

// Panel columns are stored together, Group numbers of a column share a scale, Quad of those are
// adjacent, WordGroup numbers of a word embedding share a scale, and Zero is the code of 0.
const (
	Panel     = 32
	Group     = 32
	Quad      = 4
	WordGroup = 64
	Zero      = 128
)

// A Model is the content of a file.
type Model struct {
	Words      string    // the vocabulary in the order of its ids, each word followed by a newline
	WordCodes  []byte    // Vocabulary × Hidden signed bytes
	WordScales []float32 // Vocabulary × Hidden/WordGroup
	Places     []float32 // Positions × Hidden: position embedding plus that of the first text
	Norm       Norm      // of the embeddings
	Layers     [Layers]Layer
}

// A Layer is a transformer layer.
type Layer struct {
	QueryKeyValue Matrix // Hidden to 3·Hidden: queries, keys, values
	Attention     Matrix // Hidden to Hidden
	AttentionNorm Norm
	Up            Matrix // Hidden to Intermediate
	Down          Matrix // Intermediate to Hidden
	DownNorm      Norm
}

// A Norm has Hidden numbers each.
type Norm struct{ Gain, Bias []float32 }

// A Matrix maps rows of In numbers to rows of Out. Panel p has columns 32·p to 32·p+31: for each
// Quad rows, the codes of the first column, then the second, and so on; for each Group of rows 32
// scales. Processors multiply unsigned by signed bytes, so a code is the weight in units of its
// scale, plus Zero.
type Matrix struct {
	In, Out int
	Bias    []float32 // Out
	Scales  []float32 // Out/Panel × In/Group × Panel
	Codes   []byte    // Out/Panel × In × Panel
}

// ErrFormat means that bytes are not a file of this package.
var ErrFormat = errors.New("not a file of model weights")

// magic names the format and its version.
const magic = "memcore minilm 2\n"

// Parse returns a Model that refers to data, which must not change.
func Parse(data []byte) (*Model, error) {
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: it does not start with %q", ErrFormat, magic)
	}
	r := &reader{data: data[len(magic):]}
	m := new(Model)
	m.visit(r)
	if r.short || len(r.data) > 0 {
		return nil, fmt.Errorf("%w: it has %d bytes, which is not what its shape needs", ErrFormat, len(data))
	}
	return m, nil
}

// Append appends m's file. It panics if a part has a wrong length.
func (m *Model) Append(data []byte) []byte {
	w := &writer{data: append(data, magic...)}
	m.visit(w)
	return w.data
}

// A visitor reads or writes each part in order.
type visitor interface {
	text(s *string)
	codes(b *[]byte, n int)
	floats(f *[]float32, n int) // four bytes each
	halves(f *[]float32, n int) // two bytes each
}

func (m *Model) visit(v visitor) {
	v.text(&m.Words)
	v.codes(&m.WordCodes, Vocabulary*Hidden)
	v.halves(&m.WordScales, Vocabulary*Hidden/WordGroup)
	v.floats(&m.Places, Positions*Hidden)
	m.Norm.visit(v)
	for i := range m.Layers {
		m.Layers[i].visit(v)
	}
}

func (l *Layer) visit(v visitor) {
	l.QueryKeyValue.visit(v, Hidden, 3*Hidden)
	l.Attention.visit(v, Hidden, Hidden)
	l.AttentionNorm.visit(v)
	l.Up.visit(v, Hidden, Intermediate)
	l.Down.visit(v, Intermediate, Hidden)
	l.DownNorm.visit(v)
}

func (n *Norm) visit(v visitor) {
	v.floats(&n.Gain, Hidden)
	v.floats(&n.Bias, Hidden)
}

func (m *Matrix) visit(v visitor, in, out int) {
	m.In, m.Out = in, out
	v.floats(&m.Bias, out)
	v.halves(&m.Scales, in*out/Group)
	v.codes(&m.Codes, in*out)
}
