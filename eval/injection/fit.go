package injection

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/suspicion"
)

// Features of all texts, read once.
type sample struct {
	texts   []*Text
	windows [][]window // by text
}

type window struct {
	start, end int
	features   []suspicion.Feature
	vector     []float32
	text       string
	words      float64 // its score by words and shape, by weights that were fitted without it
}

// Bounds of the scores of windows that are asked for their meaning, as distances from the threshold of words: what is below is
// no attack, what is above is one.
const (
	doubtBelow = 1.5
	doubtAbove = 1.5
)

// asked tells whether the meaning of a window counts.
func (w *window) asked() bool { return w.vector != nil }

// An Embedder makes vectors with the built-in model; its batches are small.
type Embedder func(ctx context.Context, texts []string) ([][]float32, error)

func measure(texts []*Text) *sample {
	s := &sample{texts: texts, windows: make([][]window, len(texts))}
	for i, t := range texts {
		windows, features := suspicion.Measure(t.Text)
		for k, w := range windows {
			s.windows[i] = append(s.windows[i], window{w.Start, w.End, features[k], nil, w.Text, 0})
		}
	}
	return s
}

// embed makes vectors of the windows that words leave in doubt.
func (s *sample) embed(ctx context.Context, limit float64, embed Embedder, progress func(done, of int)) error {
	var waiting []*window
	flush := func() error {
		var batch []string
		for _, w := range waiting {
			batch = append(batch, w.text)
		}
		vectors, err := embed(ctx, batch)
		if err != nil {
			return fmt.Errorf("vectors of windows: %w", err)
		}
		for i, w := range waiting {
			w.vector = vectors[i]
		}
		waiting = waiting[:0]
		return nil
	}
	for i := range s.windows {
		for k := range s.windows[i] {
			if score := s.windows[i][k].words; score < limit-doubtBelow || score > limit+doubtAbove {
				continue
			}
			if waiting = append(waiting, &s.windows[i][k]); len(waiting) == 256 {
				if err := flush(); err != nil {
					return err
				}
				progress(i, len(s.texts))
			}
		}
	}
	return flush()
}

// Settings of the fit. They were chosen by cross-validation.
type settings struct {
	vectors bool
	sure    float64 // score by words above which meaning is not asked
	epochs  int
	rate    float64
	decay   float64 // L2
	bias    float64 // to begin with
}

func wordsOnly() settings { return settings{epochs: 24, rate: 0.15, bias: -2, decay: 4e-7} }

func withMeaning() settings { return settings{vectors: true, epochs: 24, rate: 0.03, decay: 2e-6} }

// A fitted is what came of it: a bias and dense weights.
type fitted struct {
	bias  float64
	dense []float32
	sure  float64 // with meaning, the score by words above which it is not asked
}

func (f *fitted) score(w *window) float64 {
	sum := f.bias
	if len(f.dense) > suspicion.Features { // meaning corrects what words have said
		sum += w.words
		for i, v := range w.vector {
			sum += float64(f.dense[suspicion.Features+i] * v)
		}
		return sum
	}
	for _, x := range w.features {
		sum += float64(f.dense[x.ID] * x.Value)
	}
	return sum
}

// most is the score of a text: that of its most suspicious window. With meaning, windows that words are sure of are not weighed:
// the score is infinite if one of them is an attack, and -1 for at says that there is nothing to weigh.
func (f *fitted) most(windows []window) (score float64, at int) {
	score, at = math.Inf(-1), -1
	meaning := len(f.dense) > suspicion.Features
	for i := range windows {
		if meaning && !windows[i].asked() {
			if windows[i].words > f.sure {
				return math.Inf(1), -1
			}
			continue
		}
		if s := f.score(&windows[i]); s > score {
			score, at = s, i
		}
	}
	return score, at
}

// fit fits weights to texts such that the most suspicious window of an attack is, and the most suspicious of a note is not. Each
// source counts by the root of its size, and attacks, notes and hard texts count alike.
func (s *sample) fit(train []int, o settings) *fitted {
	var asked []int
	for _, i := range train {
		if !o.vectors || slices.ContainsFunc(s.windows[i], func(w window) bool { return w.asked() }) {
			asked = append(asked, i)
		}
	}
	train = asked
	size := suspicion.Features
	if o.vectors {
		size += suspicion.VectorSize
	}
	f := &fitted{bias: o.bias, dense: make([]float32, size), sure: o.sure}
	squares := make([]float32, size)
	biasSquare := 1e-6
	counts := map[string]float64{}
	key := func(t *Text) string { return t.Kind + " " + t.Source + " " + t.Lang }
	for _, i := range train {
		counts[key(s.texts[i])]++
	}
	totals := map[string]float64{}
	for k, n := range counts {
		kind, rest, _ := strings.Cut(k, " ")
		source, _, _ := strings.Cut(rest, " ")
		totals[kind] += math.Sqrt(n) * emphasis(source)
	}
	shares := map[string]float64{Attack: 1, Note: 1, Hard: 1}
	weight := func(t *Text) float64 {
		n := counts[key(t)]
		return shares[t.Kind] * emphasis(t.Source) * math.Sqrt(n) / totals[t.Kind] / n * float64(len(train)) / 3
	}
	random := rand.New(rand.NewPCG(1, 2))
	order := append([]int(nil), train...)
	for epoch := range o.epochs {
		random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		for _, i := range order {
			windows := s.windows[i]
			score, at := f.most(windows)
			if at < 0 {
				continue // words have decided
			}
			t := s.texts[i]
			y := 0.0
			if t.bad() {
				y = 1
			}
			step := weight(t) * (1/(1+math.Exp(-score)) - y)
			if epoch == 0 && y == 1 && !o.vectors { // which window it is is not known yet
				at = random.IntN(len(windows))
			}
			w := &windows[at]
			biasSquare += step * step
			f.bias -= o.rate * step / math.Sqrt(biasSquare)
			if o.vectors {
				for k, v := range w.vector {
					id := suspicion.Features + k
					g := step*float64(v) + o.decay*float64(len(train))*float64(f.dense[id])
					squares[id] += float32(g * g)
					f.dense[id] -= float32(o.rate * g / (1e-3 + math.Sqrt(float64(squares[id]))))
				}
				continue
			}
			for _, x := range w.features {
				g := step*float64(x.Value) + o.decay*float64(len(train))*float64(f.dense[x.ID])
				squares[x.ID] += float32(g * g)
				f.dense[x.ID] -= float32(o.rate * g / (1e-3 + math.Sqrt(float64(squares[x.ID]))))
			}
		}
	}
	return f
}

// emphasis is how much a source counts beside others of its size: files that tell agents what to do are what memory is full of, and
// what is taken for an attack most easily.
func emphasis(source string) float64 {
	if strings.HasPrefix(source, "memory_md") {
		return 4
	}
	if source == "own_note" {
		return 3
	}
	return 1
}
