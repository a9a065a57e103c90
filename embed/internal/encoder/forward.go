package encoder

import (
	"context"
	"math"

	"github.com/memcore/memcore/embed/internal/encoder/kernel"
	"github.com/memcore/memcore/internal/model/weights"
)

const (
	hidden   = weights.Hidden
	headSize = hidden / weights.Heads
	panel    = weights.Panel

	// qkv is the length of a token's query, key (at keyAt) and value (at valueAt).
	qkv     = 3 * hidden
	keyAt   = hidden
	valueAt = 2 * hidden
)

var attentionScale = float32(1 / math.Sqrt(headSize))

// A workspace is a worker's memory. y, attended and inner have a row a token.
type workspace struct {
	y        []float32 // output of a matrix, before it is added to x
	attended []float32
	inner    []float32 // weights.Intermediate a row
	rounded  kernel.Rounded
	keys     []float32 // of one head of one text: panels of 32 keys, transposed
	scores   []float32 // of one head of one text: a row for each query, as long as all panels of keys
}

func (w *workspace) size(tokens, longest int) {
	padded := roundUp(longest)
	grow(&w.y, tokens*hidden)
	grow(&w.attended, tokens*hidden)
	grow(&w.inner, tokens*weights.Intermediate)
	grow(&w.keys, padded*headSize)
	grow(&w.scores, min(tokens, longest)*padded)
}

func grow(s *[]float32, n int) {
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	*s = (*s)[:n]
}

// roundUp rounds n up to whole panels.
func roundUp(n int) int { return (n + panel - 1) / panel * panel }

// embedBatch sets the vectors of texts, longest first, or none if ctx ends.
func (e *Encoder) embedBatch(ctx context.Context, texts []text, workers int) {
	b, ok := e.batches.Get().(*batch)
	if !ok {
		b = new(batch)
	}
	defer e.batches.Put(b)
	b.reset(texts, workers)
	b.run(ctx, func(ctx context.Context, lo, hi int) { e.embedRows(ctx, b, lo, hi) })
}

// embedRows takes rows [lo, hi) through all layers and sets the vectors of texts that begin there.
func (e *Encoder) embedRows(ctx context.Context, b *batch, lo, hi int) {
	w, ok := e.spaces.Get().(*workspace)
	if !ok {
		w = new(workspace)
	}
	defer e.spaces.Put(w)
	w.size(hi-lo, len(b.texts[0].ids))
	x := b.x[lo*hidden : hi*hidden]
	b.parts(lo, hi, func(p part) { e.lookUp(b.x, p) })
	for i := range e.weights.Layers {
		l, all := &e.weights.Layers[i], b.qkvOf(i)
		e.linear(w, &l.QueryKeyValue, x, all[lo*qkv:hi*qkv], valueAt)
		if !b.wait(ctx) {
			return
		}
		b.parts(lo, hi, func(p part) { e.attend(w, all[p.row*qkv:], w.attended[(p.row+p.from-lo)*hidden:], p) })
		e.finish(w, l, x)
	}
	if b.wait(ctx) {
		b.parts(lo, hi, func(p part) {
			if p.from == 0 {
				*p.vec = mean(b.x[p.row*hidden:][:len(p.ids)*hidden])
			}
		})
	}
}

// lookUp sets rows of x to embeddings of tokens plus positions.
func (e *Encoder) lookUp(x []float32, p part) {
	w := e.weights
	for place := p.from; place < p.to; place++ {
		row := x[(p.row+place)*hidden:][:hidden]
		w.Words.Row(row, int(p.ids[place]))
		e.kernel.LayerNorm(row, w.Places[place*hidden:], w.Norm.Gain, w.Norm.Bias)
	}
}

// finish is a layer after the attention.
func (e *Encoder) finish(w *workspace, l *weights.Layer, x []float32) {
	e.linear(w, &l.Attention, w.attended, w.y, hidden)
	e.addAndNorm(x, w.y, l.AttentionNorm)
	e.linear(w, &l.Up, x, w.inner, weights.Intermediate)
	e.kernel.GELU(w.inner)
	e.linear(w, &l.Down, w.inner, w.y, hidden)
	e.addAndNorm(x, w.y, l.DownNorm)
}

// linear multiplies the rounded in by the matrix and adds its bias. From column fine on, it also
// multiplies the remainder of rounding.
func (e *Encoder) linear(w *workspace, mat *weights.Matrix, in, out []float32, fine int) {
	rows := len(in) / mat.In
	for i := range rows {
		copy(out[i*mat.Out:], mat.Bias)
	}
	precision := kernel.Coarse
	if fine < mat.Out {
		precision = kernel.Fine
	}
	e.kernel.Round(&w.rounded, in, mat.In, precision)
	for first := 0; first < mat.Out; first += panel {
		if first < fine {
			precision = kernel.Coarse
		} else {
			precision = kernel.Fine
		}
		e.kernel.MultiplyPanel(&w.rounded, precision, mat.Codes[first*mat.In:], mat.Scales[first*mat.In/weights.Group:], out[first:], mat.Out)
	}
}

func (e *Encoder) addAndNorm(x, y []float32, n weights.Norm) {
	for i := 0; i < len(x); i += hidden {
		e.kernel.LayerNorm(x[i:i+hidden], y[i:i+hidden], n.Gain, n.Bias)
	}
}

// attend sets rows of out for a part; all is the text's query, key and value.
func (e *Encoder) attend(w *workspace, all, out []float32, p part) {
	n, queries := len(p.ids), p.to-p.from
	for head := range weights.Heads {
		at := all[head*headSize:]
		e.weigh(w, at, n, p.from, p.to)
		to := out[head*headSize:]
		for i := range queries {
			clear(to[i*hidden:][:headSize])
		}
		e.kernel.MultiplyAdd(queries, n, w.scores, roundUp(n), at[valueAt:], qkv, to, hidden)
	}
}

// weigh sets scores to the attention of tokens [from, to) to n, for one head, whose first query is
// at.
func (e *Encoder) weigh(w *workspace, at []float32, n, from, to int) {
	padded, queries := roundUp(n), to-from
	scores := w.scores[:queries*padded]
	clear(scores)
	transpose(w.keys[:padded*headSize], at[keyAt:], n)
	for first := 0; first < padded; first += panel {
		e.kernel.MultiplyAdd(queries, headSize, at[from*qkv:], qkv, w.keys[first*headSize:], panel, scores[first:], padded)
	}
	for i := range queries {
		line := scores[i*padded:][:padded]
		for j := n; j < padded; j++ {
			line[j] = float32(math.Inf(-1))
		}
		e.kernel.Softmax(line, attentionScale)
	}
}

// transpose stores n keys in panels of 32. weigh ignores the rest.
func transpose(keys, from []float32, n int) {
	for i := range n {
		to := keys[i/panel*panel*headSize+i%panel:]
		for j, v := range from[i*qkv:][:headSize] {
			to[j*panel] = v
		}
	}
}

// mean returns the rows' mean, scaled to length 1.
func mean(rows []float32) []float32 {
	vec := make([]float32, hidden)
	for ; len(rows) > 0; rows = rows[hidden:] {
		for i, v := range rows[:hidden] {
			vec[i] += v
		}
	}
	normalise(vec)
	return vec
}

func normalise(vec []float32) {
	sum := 0.0
	for _, v := range vec {
		sum += float64(v) * float64(v)
	}
	scale := float32(1 / math.Sqrt(sum))
	for i := range vec {
		vec[i] *= scale
	}
}
