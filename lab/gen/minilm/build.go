package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/memcore/memcore/internal/model/modelfile"
	"github.com/memcore/memcore/internal/model/weights"
)

// builder takes tensors by name and keeps the first error.
type builder struct {
	tensors map[string]tensor
	err     error
}

// build makes the model from tensors and vocabulary.
func build(tensors map[string]tensor, vocabulary []byte) (modelfile.File, error) {
	b := &builder{tensors: tensors}
	file := modelfile.File{Words: words(vocabulary)}
	m := &weights.Model{Shape: modelfile.Shape, Norm: b.norm("embeddings.LayerNorm")}
	m.Words = b.words("embeddings.word_embeddings.weight")
	m.Places = b.places()
	if b.err != nil {
		return file, b.err
	}
	found := b.calibrate(file.Words, calibration)
	for i := range modelfile.Layers {
		m.Layers = append(m.Layers, b.layer(layerPrefix(i), found[i]))
	}
	if n := bytes.Count([]byte(file.Words), []byte("\n")); b.err == nil && n != modelfile.Vocabulary {
		return file, fmt.Errorf("vocabulary has %d words, want %d", n, modelfile.Vocabulary)
	}
	file.Weights = m
	return file, b.err
}

// words puts a newline after each word.
func words(vocabulary []byte) string {
	text := bytes.ReplaceAll(vocabulary, []byte("\r\n"), []byte("\n"))
	return string(append(bytes.TrimRight(text, "\n"), '\n'))
}

// get returns a tensor of at least this shape, empty after an error.
func (b *builder) get(name string, rows, cols int) tensor {
	t, ok := b.tensors[name]
	if (!ok || t.rows < rows || t.cols != cols) && b.err == nil {
		b.err = fmt.Errorf("tensor %s is %d×%d, want %d×%d", name, t.rows, t.cols, rows, cols)
	}
	if b.err != nil {
		return tensor{rows, cols, make([]float32, rows*cols)}
	}
	return tensor{rows, cols, t.data[:rows*cols]}
}

func (b *builder) vector(name string, n int) []float32 { return b.get(name, 1, n).data }

func (b *builder) norm(name string) weights.Norm {
	return weights.Norm{Gain: b.vector(name+".weight", weights.Hidden), Bias: b.vector(name+".bias", weights.Hidden)}
}

// places adds the only segment's embedding to the positions'.
func (b *builder) places() []float32 {
	segment := b.get("embeddings.token_type_embeddings.weight", 1, weights.Hidden).data
	out := b.get("embeddings.position_embeddings.weight", modelfile.Positions, weights.Hidden).data
	for i := range out {
		out[i] += segment[i%weights.Hidden]
	}
	return out
}

func layerPrefix(i int) string { return fmt.Sprintf("encoder.layer.%d.", i) }

func (b *builder) layer(prefix string, in inputs) weights.Layer {
	self := prefix + "attention.self."
	return weights.Layer{
		QueryKeyValue: b.matrix(in.queryKeyValue, weights.Hidden, self+"query", self+"key", self+"value"),
		Attention:     b.matrix(in.attention, weights.Hidden, prefix+"attention.output.dense"),
		AttentionNorm: b.norm(prefix + "attention.output.LayerNorm"),
		Up:            b.matrix(in.up, weights.Intermediate, prefix+"intermediate.dense"),
		Down:          b.matrix(in.down, weights.Hidden, prefix+"output.dense"),
		DownNorm:      b.norm(prefix + "output.LayerNorm"),
	}
}

// matrix puts linear maps of one input side by side, transposed. Rounding changes outputs for
// inputs like the gram's the least.
func (b *builder) matrix(like *gram, out int, names ...string) weights.Matrix {
	in := like.n
	m := weights.NewMatrix(in, out*len(names))
	var columns []float32
	for _, name := range names {
		columns = append(columns, b.get(name+".weight", out, in).data...)
		m.Bias = append(m.Bias, b.vector(name+".bias", out)...)
	}
	upper, err := like.factor()
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("%s: %w", names[0], err)
	}
	if b.err == nil {
		everyColumn(m.Out, func(col int) { setColumn(m, col, columns[col*in:][:in], upper) })
	}
	return m
}

// setColumn quantises column col of m.
func setColumn(m weights.Matrix, col int, values []float32, upper []float64) {
	scales := make([]float32, m.In/weights.Group)
	for g := range scales {
		scales[g] = scale(values[g*weights.Group:][:weights.Group])
		m.SetScale(g, col, scales[g])
	}
	for row, c := range compensated(values, scales, upper) {
		m.SetCode(row, col, int(int8(c)))
	}
}

// words quantises the word embeddings, row by row.
func (b *builder) words(name string) weights.Words {
	t := b.get(name, modelfile.Vocabulary, weights.Hidden)
	w := weights.Words{Bits: modelfile.Shape.WordBits}
	for group := range slices.Chunk(t.data, weights.WordGroup) {
		s := scale(group)
		w.Scales = weights.AppendHalf(w.Scales, s)
		for _, v := range group {
			w.Codes = append(w.Codes, code(v, s))
		}
	}
	return w
}

// scale returns a 127th of the group's largest number, in half precision.
func scale(group []float32) float32 {
	var top float32
	for _, v := range group {
		top = max(top, float32(math.Abs(float64(v))))
	}
	return weights.RoundHalf(top / 127)
}

func code(v, scale float32) byte {
	if scale == 0 {
		return 0
	}
	return byte(int8(min(max(math.RoundToEven(float64(v/scale)), -127), 127)))
}
