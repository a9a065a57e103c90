package minilm

import (
	"context"
	"math"

	"github.com/memcore/memcore/embed/minilm/internal/kernel"
	"github.com/memcore/memcore/embed/minilm/internal/weights"
)

const (
	hidden   = weights.Hidden
	headSize = hidden / weights.Heads
	panel    = weights.Panel

	// qkv is the length of a row that holds a token's query, key and value; keyAt and valueAt are
	// where the latter begin.
	qkv     = 3 * hidden
	keyAt   = hidden
	valueAt = 2 * hidden
)

// attentionScale divides the product of a query and a key by the root of their length.
var attentionScale = float32(1 / math.Sqrt(headSize))

// A workspace holds what one member of a crew needs. All slices but rounded, keys and scores have a row
// for each of its tokens.
type workspace struct {
	y        []float32 // output of a matrix, before it is added to x
	attended []float32
	inner    []float32 // weights.Intermediate a row
	rounded  kernel.Rounded
	keys     []float32 // of one head of one text: panels of 32 keys, transposed
	scores   []float32 // of one head of one text: a row for each query, as long as all panels of keys
}

// size makes room for tokens, of texts that have up to longest of them.
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

// roundUp is n rounded up to whole panels.
func roundUp(n int) int { return (n + panel - 1) / panel * panel }

// embedBatch sets the vectors of texts, the first of which is the longest, with at most so many members
// at work. It stops without doing so when ctx ends.
func (m *Model) embedBatch(ctx context.Context, texts []text, members int) {
	c, ok := m.crews.Get().(*crew)
	if !ok {
		c = new(crew)
	}
	defer m.crews.Put(c)
	c.size(texts, members)
	c.work(ctx, func(ctx context.Context, lo, hi int) { m.embedShare(ctx, c, lo, hi) })
}

// embedShare takes the rows from lo, less than hi, through all layers, and sets the vectors of the
// texts that begin there.
func (m *Model) embedShare(ctx context.Context, c *crew, lo, hi int) {
	w, ok := m.spaces.Get().(*workspace)
	if !ok {
		w = new(workspace)
	}
	defer m.spaces.Put(w)
	w.size(hi-lo, len(c.texts[0].ids))
	x := c.x[lo*hidden : hi*hidden]
	c.parts(lo, hi, func(p part) { m.lookUp(c.x, p) })
	for i := range model().Layers {
		l, all := &model().Layers[i], c.qkvOf(i)
		m.linear(w, &l.QueryKeyValue, x, all[lo*qkv:hi*qkv], valueAt)
		if !c.meet(ctx) {
			return
		}
		c.parts(lo, hi, func(p part) { m.attend(w, all[p.row*qkv:], w.attended[(p.row+p.from-lo)*hidden:], p) })
		m.finish(w, l, x)
	}
	if c.meet(ctx) {
		c.parts(lo, hi, func(p part) {
			if p.from == 0 {
				*p.vec = mean(c.x[p.row*hidden:][:len(p.ids)*hidden])
			}
		})
	}
}

// lookUp sets rows of x to the embeddings of the tokens and their places.
func (m *Model) lookUp(x []float32, p part) {
	weights := model()
	for place := p.from; place < p.to; place++ {
		row := x[(p.row+place)*hidden:][:hidden]
		unpackWord(row, weights, int(p.ids[place]))
		m.kernel.LayerNorm(row, weights.Places[place*hidden:], weights.Norm.Gain, weights.Norm.Bias)
	}
}

// unpackWord sets x to the embedding of a word.
func unpackWord(x []float32, m *weights.Model, id int) {
	codes := m.WordCodes[id*hidden:][:hidden]
	scales := m.WordScales[id*(hidden/weights.WordGroup):]
	for i, c := range codes {
		x[i] = float32(int8(c)) * scales[i/weights.WordGroup]
	}
}

// finish takes x from what was attended to the end of a layer.
func (m *Model) finish(w *workspace, l *weights.Layer, x []float32) {
	m.linear(w, &l.Attention, w.attended, w.y, hidden)
	m.addAndNorm(x, w.y, l.AttentionNorm)
	m.linear(w, &l.Up, x, w.inner, weights.Intermediate)
	m.kernel.GELU(w.inner)
	m.linear(w, &l.Down, w.inner, w.y, hidden)
	m.addAndNorm(x, w.y, l.DownNorm)
}

// linear sets out to in, rounded, times the matrix plus its bias. Columns from fine on are computed with
// what rounding took away, too.
func (m *Model) linear(w *workspace, mat *weights.Matrix, in, out []float32, fine int) {
	rows := len(in) / mat.In
	for i := range rows {
		copy(out[i*mat.Out:], mat.Bias)
	}
	precision := kernel.Coarse
	if fine < mat.Out {
		precision = kernel.Fine
	}
	m.kernel.Round(&w.rounded, in, mat.In, precision)
	for first := 0; first < mat.Out; first += panel {
		if first < fine {
			precision = kernel.Coarse
		} else {
			precision = kernel.Fine
		}
		m.kernel.MultiplyPanel(&w.rounded, precision, mat.Codes[first*mat.In:], mat.Scales[first*mat.In/weights.Group:], out[first:], mat.Out)
	}
}

// addAndNorm adds y to x.
func (m *Model) addAndNorm(x, y []float32, n weights.Norm) {
	for i := 0; i < len(x); i += hidden {
		m.kernel.LayerNorm(x[i:i+hidden], y[i:i+hidden], n.Gain, n.Bias)
	}
}

// attend sets rows of out for part of a text; all holds query, key and value of the whole of it.
func (m *Model) attend(w *workspace, all, out []float32, p part) {
	n, queries := len(p.ids), p.to-p.from
	for head := range weights.Heads {
		at := all[head*headSize:]
		m.weigh(w, at, n, p.from, p.to)
		to := out[head*headSize:]
		for i := range queries {
			clear(to[i*hidden:][:headSize])
		}
		m.kernel.MultiplyAdd(queries, n, w.scores, roundUp(n), at[valueAt:], qkv, to, hidden)
	}
}

// weigh sets scores to how much each of the tokens from, less than to, of a text looks at each of its n
// tokens; at is the query of the first, for one head.
func (m *Model) weigh(w *workspace, at []float32, n, from, to int) {
	padded, queries := roundUp(n), to-from
	scores := w.scores[:queries*padded]
	clear(scores)
	transpose(w.keys[:padded*headSize], at[keyAt:], n)
	for first := 0; first < padded; first += panel {
		m.kernel.MultiplyAdd(queries, headSize, at[from*qkv:], qkv, w.keys[first*headSize:], panel, scores[first:], padded)
	}
	for i := range queries {
		line := scores[i*padded:][:padded]
		for j := n; j < padded; j++ {
			line[j] = float32(math.Inf(-1))
		}
		m.kernel.Softmax(line, attentionScale)
	}
}

// transpose lays n keys out in panels: of each, headSize rows of 32. Places beyond the last key keep
// what they held; weigh throws away what becomes of it.
func transpose(keys, from []float32, n int) {
	for i := range n {
		to := keys[i/panel*panel*headSize+i%panel:]
		for j, v := range from[i*qkv:][:headSize] {
			to[j*panel] = v
		}
	}
}

// mean is the mean of rows, made one long.
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
