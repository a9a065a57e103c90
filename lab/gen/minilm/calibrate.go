package main

import (
	_ "embed" // for the texts
	"math"
	"strings"
	"sync"

	"github.com/memcore/memcore/internal/model/modelfile"
	"github.com/memcore/memcore/internal/model/weights"
	"github.com/memcore/memcore/internal/model/wordpiece"
)

// calibration is prose of the kind that is embedded, paragraphs of our own, on which the inputs of
// matrices are measured.
//
//go:embed calibration.txt
var calibration string

const epsilon = 1e-12 // of the model's layer norms

// A gram sums, over all tokens, the products of each two inputs: the lower half of a square matrix.
type gram struct {
	n    int
	sums []float64
}

func newGram(n int) *gram { return &gram{n, make([]float64, n*n)} }

func (g *gram) add(x []float64) {
	for i, a := range x {
		row := g.sums[i*g.n:][:i+1]
		for j := range row {
			row[j] += a * x[j]
		}
	}
}

func (g *gram) merge(other *gram) {
	for i, v := range other.sums {
		g.sums[i] += v
	}
}

// inputs are the grams of a layer's matrices.
type inputs struct{ queryKeyValue, attention, up, down *gram }

func newInputs() inputs {
	return inputs{newGram(weights.Hidden), newGram(weights.Hidden), newGram(weights.Hidden), newGram(weights.Intermediate)}
}

func (in inputs) merge(other inputs) {
	in.queryKeyValue.merge(other.queryKeyValue)
	in.attention.merge(other.attention)
	in.up.merge(other.up)
	in.down.merge(other.down)
}

// parts is fixed, so that sums have one order everywhere.
const parts = 8

// calibrate runs the published model over paragraphs and returns its matrices' inputs.
func (b *builder) calibrate(vocabulary, text string) [modelfile.Layers]inputs {
	tokens, err := wordpiece.New(vocabulary)
	if err != nil {
		b.err = err
		return [modelfile.Layers]inputs{}
	}
	var found [parts][modelfile.Layers]inputs
	var wg sync.WaitGroup
	paragraphs := strings.Split(text, "\n\n")
	model := b.exact()
	for part := range parts {
		wg.Go(func() {
			for i := range found[part] {
				found[part][i] = newInputs()
			}
			for i := part; i < len(paragraphs); i += parts {
				ids := append(tokens.Append([]int32{101}, paragraphs[i], modelfile.Positions-2), 102)
				model.run(ids, &found[part])
			}
		})
	}
	wg.Wait()
	for _, other := range found[1:] {
		for i := range other {
			found[0][i].merge(other[i])
		}
	}
	return found[0]
}

// An exactModel is the published model, under its names.
type exactModel struct {
	word, place, segment tensor
	norm                 weights.Norm
	layers               [modelfile.Layers]exactLayer
}

type exactLayer struct {
	query, key, value, attention, up, down dense
	attentionNorm, downNorm                weights.Norm
}

// A dense is a linear map: a row of matrix an output.
type dense struct {
	matrix tensor
	bias   []float32
}

func (b *builder) exact() *exactModel {
	m := &exactModel{
		word:    b.get("embeddings.word_embeddings.weight", modelfile.Vocabulary, weights.Hidden),
		place:   b.get("embeddings.position_embeddings.weight", modelfile.Positions, weights.Hidden),
		segment: b.get("embeddings.token_type_embeddings.weight", 1, weights.Hidden),
		norm:    b.norm("embeddings.LayerNorm"),
	}
	for i := range m.layers {
		p := layerPrefix(i)
		self := p + "attention.self."
		m.layers[i] = exactLayer{
			query: b.dense(self+"query", weights.Hidden, weights.Hidden), key: b.dense(self+"key", weights.Hidden, weights.Hidden),
			value:     b.dense(self+"value", weights.Hidden, weights.Hidden),
			attention: b.dense(p+"attention.output.dense", weights.Hidden, weights.Hidden), attentionNorm: b.norm(p + "attention.output.LayerNorm"),
			up: b.dense(p+"intermediate.dense", weights.Hidden, weights.Intermediate), down: b.dense(p+"output.dense", weights.Intermediate, weights.Hidden),
			downNorm: b.norm(p + "output.LayerNorm"),
		}
	}
	return m
}

func (b *builder) dense(name string, in, out int) dense {
	return dense{b.get(name+".weight", out, in), b.vector(name+".bias", out)}
}

// apply returns a row for each of x.
func (d dense) apply(x [][]float64) [][]float64 {
	out := make([][]float64, len(x))
	for i, row := range x {
		out[i] = make([]float64, d.matrix.rows)
		for j := range out[i] {
			out[i][j] = dot(row, d.matrix.data[j*d.matrix.cols:][:d.matrix.cols]) + float64(d.bias[j])
		}
	}
	return out
}

func dot(x []float64, w []float32) float64 {
	var a, b, c, d float64
	for i := 0; i+3 < len(x); i += 4 { // all lengths here are multiples of four
		a += x[i] * float64(w[i])
		b += x[i+1] * float64(w[i+1])
		c += x[i+2] * float64(w[i+2])
		d += x[i+3] * float64(w[i+3])
	}
	return a + b + c + d
}

// run adds the inputs for a text to found.
func (m *exactModel) run(ids []int32, found *[modelfile.Layers]inputs) {
	x := make([][]float64, len(ids))
	for i, id := range ids {
		x[i] = make([]float64, weights.Hidden)
		for j := range x[i] {
			x[i][j] = float64(m.word.data[int(id)*weights.Hidden+j]) + float64(m.place.data[i*weights.Hidden+j]) + float64(m.segment.data[j])
		}
	}
	normalise(x, m.norm)
	for i := range m.layers {
		m.layers[i].run(x, found[i])
	}
}

func (l *exactLayer) run(x [][]float64, found inputs) {
	addAll(found.queryKeyValue, x)
	attended := attend(l.query.apply(x), l.key.apply(x), l.value.apply(x))
	addAll(found.attention, attended)
	sum(x, l.attention.apply(attended))
	normalise(x, l.attentionNorm)
	addAll(found.up, x)
	inner := l.up.apply(x)
	for _, row := range inner {
		for i, v := range row {
			row[i] = v / 2 * math.Erfc(-v/math.Sqrt2)
		}
	}
	addAll(found.down, inner)
	sum(x, l.down.apply(inner))
	normalise(x, l.downNorm)
}

func addAll(g *gram, rows [][]float64) {
	for _, row := range rows {
		g.add(row)
	}
}

func sum(x, y [][]float64) {
	for i := range x {
		for j, v := range y[i] {
			x[i][j] += v
		}
	}
}

func normalise(x [][]float64, n weights.Norm) {
	for _, row := range x {
		mean, variance := 0.0, 0.0
		for _, v := range row {
			mean += v / float64(len(row))
		}
		for _, v := range row {
			variance += (v - mean) * (v - mean) / float64(len(row))
		}
		for i, v := range row {
			row[i] = (v-mean)/math.Sqrt(variance+epsilon)*float64(n.Gain[i]) + float64(n.Bias[i])
		}
	}
}

// attend mixes values, head by head.
func attend(query, key, value [][]float64) [][]float64 {
	const size = weights.Hidden / weights.Heads
	out := make([][]float64, len(query))
	for i := range query {
		out[i] = make([]float64, weights.Hidden)
		for at := 0; at < weights.Hidden; at += size {
			mix(out[i][at:at+size], query[i][at:at+size], key, value, at)
		}
	}
	return out
}

func mix(out, query []float64, key, value [][]float64, at int) {
	scores, top := make([]float64, len(key)), math.Inf(-1)
	for j := range key {
		for k, q := range query {
			scores[j] += q * key[j][at+k]
		}
		scores[j] /= math.Sqrt(float64(len(query)))
		top = max(top, scores[j])
	}
	total := 0.0
	for j, s := range scores {
		scores[j] = math.Exp(s - top)
		total += scores[j]
	}
	for j, s := range scores {
		for k := range out {
			out[k] += s / total * value[j][at+k]
		}
	}
}
