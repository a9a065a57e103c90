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

// A workspace holds what lies between the layers for one batch. All slices but unpacked, keys and
// scores have a row for each token.
type workspace struct {
	x        []float32 // what the layers change, hidden a row
	y        []float32 // output of a matrix, before it is added to x
	qkv      []float32
	attended []float32
	inner    []float32 // weights.Intermediate a row
	rounded  kernel.Rounded
	keys     []float32 // of one head of one text: panels of 32 keys, transposed
	scores   []float32 // of one head of one text: a row for each query, as long as all panels of keys
}

// size makes room for a batch with the given number of tokens.
func (w *workspace) size(tokens, longest int) {
	padded := roundUp(longest)
	grow(&w.x, tokens*hidden)
	grow(&w.y, tokens*hidden)
	grow(&w.qkv, tokens*qkv)
	grow(&w.attended, tokens*hidden)
	grow(&w.inner, tokens*weights.Intermediate)
	grow(&w.keys, padded*headSize)
	grow(&w.scores, longest*padded)
}

func grow(s *[]float32, n int) {
	if cap(*s) < n {
		*s = make([]float32, n)
	}
	*s = (*s)[:n]
}

// roundUp is n rounded up to whole panels.
func roundUp(n int) int { return (n + panel - 1) / panel * panel }

// embedBatch sets the vectors of texts, the first of which is the longest. It stops without doing so
// when ctx ends.
func (m *Model) embedBatch(ctx context.Context, texts []text) {
	w, ok := m.spaces.Get().(*workspace)
	if !ok {
		w = new(workspace)
	}
	defer m.spaces.Put(w)
	tokens := 0
	for _, t := range texts {
		tokens += len(t.ids)
	}
	w.size(tokens, len(texts[0].ids))
	m.lookUp(w, texts)
	for i := range model().Layers {
		if ctx.Err() != nil {
			return
		}
		m.layer(w, texts, &model().Layers[i])
	}
	pool(w.x, texts)
}

// lookUp sets x to the embeddings of the tokens and their places.
func (m *Model) lookUp(w *workspace, texts []text) {
	weights := model()
	x := w.x
	for _, t := range texts {
		for place, id := range t.ids {
			unpackWord(x[:hidden], weights, int(id))
			m.kernel.LayerNorm(x[:hidden], weights.Places[place*hidden:], weights.Norm.Gain, weights.Norm.Bias)
			x = x[hidden:]
		}
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

// layer takes x through one layer.
func (m *Model) layer(w *workspace, texts []text, l *weights.Layer) {
	m.linear(w, &l.QueryKeyValue, w.x, w.qkv, valueAt)
	rows := 0
	for _, t := range texts {
		m.attend(w, rows, len(t.ids))
		rows += len(t.ids)
	}
	m.linear(w, &l.Attention, w.attended, w.y, hidden)
	m.addAndNorm(w, l.AttentionNorm)
	m.linear(w, &l.Up, w.x, w.inner, weights.Intermediate)
	m.kernel.GELU(w.inner)
	m.linear(w, &l.Down, w.inner, w.y, hidden)
	m.addAndNorm(w, l.DownNorm)
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
func (m *Model) addAndNorm(w *workspace, n weights.Norm) {
	for i := 0; i < len(w.x); i += hidden {
		m.kernel.LayerNorm(w.x[i:i+hidden], w.y[i:i+hidden], n.Gain, n.Bias)
	}
}

// attend sets attended for the n tokens of a text that begins at the given row.
func (m *Model) attend(w *workspace, row, n int) {
	for head := range weights.Heads {
		at := w.qkv[row*qkv+head*headSize:]
		m.weigh(w, at, n)
		out := w.attended[row*hidden+head*headSize:]
		for i := range n {
			clear(out[i*hidden:][:headSize])
		}
		m.kernel.MultiplyAdd(n, n, w.scores, roundUp(n), at[valueAt:], qkv, out, hidden)
	}
}

// weigh sets scores to how much each token of a text looks at each other; at is the query of the
// first, for one head.
func (m *Model) weigh(w *workspace, at []float32, n int) {
	padded := roundUp(n)
	scores := w.scores[:n*padded]
	clear(scores)
	transpose(w.keys[:padded*headSize], at[keyAt:], n)
	for first := 0; first < padded; first += panel {
		m.kernel.MultiplyAdd(n, headSize, at, qkv, w.keys[first*headSize:], panel, scores[first:], padded)
	}
	for i := range n {
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

// pool sets each text's vector to the mean of its rows, made one long.
func pool(x []float32, texts []text) {
	for _, t := range texts {
		vec := make([]float32, hidden)
		for range t.ids {
			for i, v := range x[:hidden] {
				vec[i] += v
			}
			x = x[hidden:]
		}
		normalise(vec)
		*t.vec = vec
	}
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
