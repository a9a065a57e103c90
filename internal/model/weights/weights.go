// Package weights reads and writes the weights of a model.
//
// Matrices are signed bytes in the order of multiplication, with a scale for every 32 numbers. They
// are used in place, so that a mapped file costs no memory of its own; of the rest a few MB are
// unpacked.
package weights

import (
	"errors"
	"fmt"
)

// The shape of MiniLM's family, to which multilingual-e5-small belongs: what the kernels compute.
const (
	Hidden       = 384
	Heads        = 12
	Intermediate = 1536
)

// A Shape is in what models of the family differ.
type Shape struct {
	Layers     int
	Positions  int // tokens the model reads at once, with the first and the last
	Vocabulary int // tokens
	WordBits   int // of a number of the word embeddings: 8 or 4
}

// Panel columns are stored together, Group numbers of a column share a scale, Quad of those are
// adjacent, and Zero is the code of 0.
const (
	Panel = 32
	Group = 32
	Quad  = 4
	Zero  = 128
)

// A Model is the weights.
type Model struct {
	Shape
	Words  Words
	Places []float32 // Positions × Hidden: position embedding plus that of the first text
	Norm   Norm      // of the embeddings
	Layers []Layer
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

// NewMatrix returns a matrix of zeros without a bias.
func NewMatrix(in, out int) Matrix {
	return Matrix{In: in, Out: out, Scales: make([]float32, in*out/Group), Codes: make([]byte, in*out)}
}

// SetCode sets a number, in units of its scale.
func (m Matrix) SetCode(row, column, value int) {
	panel, lane := column/Panel, column%Panel
	m.Codes[panel*m.In*Panel+row/Quad*Quad*Panel+lane*Quad+row%Quad] = byte(value + Zero)
}

// SetScale sets the scale of rows 32·group to 32·group+31 of a column.
func (m Matrix) SetScale(group, column int, scale float32) {
	panel, lane := column/Panel, column%Panel
	m.Scales[panel*m.In/Group*Panel+group*Panel+lane] = scale
}

// ErrFormat means that bytes are not weights of the expected shape.
var ErrFormat = errors.New("not model weights")

// Parse returns a Model that refers to data, which must not change.
func Parse(shape Shape, data []byte) (*Model, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	r := &reader{data: data}
	m := &Model{Shape: shape}
	m.visit(r)
	if r.short || len(r.data) > 0 {
		return nil, fmt.Errorf("%w: %d bytes are not what the shape needs", ErrFormat, len(data))
	}
	return m, nil
}

// Check bounds the shape, so that no product of its numbers is too large.
func (s Shape) Check() error {
	switch {
	case s.Layers < 1 || s.Layers > 48:
		return fmt.Errorf("%w: %d layers, want 1 to 48", ErrFormat, s.Layers)
	case s.Positions < 3 || s.Positions > 1<<14:
		return fmt.Errorf("%w: %d positions, want 3 to 16384", ErrFormat, s.Positions)
	case s.Vocabulary < 1 || s.Vocabulary > 1<<21:
		return fmt.Errorf("%w: a vocabulary of %d, want 1 to 2097152", ErrFormat, s.Vocabulary)
	case s.WordBits != 4 && s.WordBits != 8:
		return fmt.Errorf("%w: word embeddings of %d bits, want 4 or 8", ErrFormat, s.WordBits)
	}
	return nil
}

// Bytes is how many the weights of a shape take.
func (s Shape) Bytes() int {
	n := new(counter)
	(&Model{Shape: s}).visit(n)
	return int(*n)
}

// Append appends m's bytes. It panics if a part has a wrong length.
func (m *Model) Append(data []byte) []byte {
	checkLength(len(m.Layers), m.Shape.Layers)
	w := &writer{data: data}
	m.visit(w)
	return w.data
}

// A visitor reads or writes each part in order.
type visitor interface {
	codes(b *[]byte, n int)
	floats(f *[]float32, n int) // four bytes each
	halves(f *[]float32, n int) // two bytes each
}

func (m *Model) visit(v visitor) {
	m.Words.visit(v, m.Shape)
	v.floats(&m.Places, m.Positions*Hidden)
	m.Norm.visit(v)
	if m.Layers == nil {
		m.Layers = make([]Layer, m.Shape.Layers)
	}
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
