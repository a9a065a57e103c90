package injection

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/memcore/memcore/internal/text/injection"
)

// settings were chosen by cross-validation.
type settings struct {
	vectors bool
	sure    float64 // score by words from which meaning is not asked
	epochs  int
	rate    float64
	decay   float64 // L2
	bias    float64 // at the start
}

func wordsOnly() settings { return settings{epochs: 24, rate: 0.15, bias: -2, decay: 4e-7} }

func withMeaning() settings { return settings{vectors: true, epochs: 24, rate: 0.03, decay: 2e-6} }

// weights are a fit. With meaning they correct the score by words.
type weights struct {
	settings
	bias  float64
	dense []float32 // of features, then of the vector
}

func (f *weights) score(w *window) float64 {
	sum := f.bias
	if !f.vectors {
		for _, x := range w.features {
			sum += float64(f.dense[x.ID] * x.Value)
		}
		return sum
	}
	sum += w.words
	for i, v := range w.vector {
		sum += float64(f.dense[injection.Features+i] * v)
	}
	return sum
}

// highest returns the highest score of the windows and its index. If words alone decide, these are
// infinite and -1.
func (f *weights) highest(windows []window) (score float64, place int) {
	score, place = math.Inf(-1), -1
	for i := range windows {
		w := &windows[i]
		if f.vectors && w.vector == nil {
			if w.words > f.sure {
				return math.Inf(1), -1
			}
			continue
		}
		if s := f.score(w); s > score {
			score, place = s, i
		}
	}
	return score, place
}

// textScore returns a text's score. In a Buried one only windows at the attack count.
func (f *weights) textScore(s *sample, i int) float64 {
	windows := s.windows[i]
	if t := s.texts[i]; t.Kind == Buried {
		windows = nil
		for _, w := range s.windows[i] {
			touches := func(span [2]int) bool { return w.Start < span[1] && span[0] < w.End }
			if slices.ContainsFunc(t.Spans, touches) {
				windows = append(windows, w)
			}
		}
	}
	score, _ := f.highest(windows)
	return score
}

// Notes with a lower score teach little, so they rest for some epochs: a fit takes half the time.
const (
	clearly    = -5
	restEpochs = 3
)

// fit moves the highest window of an attack above the threshold, that of a note below, by gradient
// descent.
func (s *sample) fit(train []int, o settings) *weights {
	hasVector := func(w window) bool { return w.vector != nil }
	var order []int
	for _, i := range train {
		if !o.vectors || slices.ContainsFunc(s.windows[i], hasVector) {
			order = append(order, i)
		}
	}
	d := newDescent(o, len(order))
	weightOf := s.textWeights(order)
	random := rand.New(rand.NewPCG(1, 2))
	rests := make([]int, len(s.texts))
	for epoch := range o.epochs {
		random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		for _, i := range order {
			t, windows := s.texts[i], s.windows[i]
			if rests[i] > 0 {
				rests[i]--
				continue
			}
			score, at := d.highest(windows)
			if at < 0 {
				continue // words decide
			}
			if !t.isAttack() && score < clearly {
				rests[i] = restEpochs
				continue
			}
			wanted := 0.0
			if t.isAttack() {
				wanted = 1
			}
			step := weightOf(t) * (1/(1+math.Exp(-score)) - wanted)
			if epoch == 0 && t.isAttack() && !o.vectors { // the attack's window is not known yet
				at = random.IntN(len(windows))
			}
			d.step(&windows[at], step)
		}
	}
	return d.weights
}

// textWeights weighs sources by the root of their size, and kinds alike.
func (s *sample) textWeights(train []int) func(*Text) float64 {
	type key struct{ kind, source, lang string }
	keyOf := func(t *Text) key { return key{t.Kind, t.Source, t.Lang} }
	counts, emphasis := map[key]float64{}, map[key]float64{}
	var keys []key
	for _, i := range train {
		k := keyOf(s.texts[i])
		if counts[k] == 0 {
			keys = append(keys, k)
		}
		counts[k]++
		emphasis[k] = s.texts[i].weight()
	}
	totals := map[string]float64{}
	for _, k := range keys {
		totals[k.kind] += math.Sqrt(counts[k]) * emphasis[k]
	}
	return func(t *Text) float64 {
		n := counts[keyOf(t)]
		return t.weight() * math.Sqrt(n) / totals[t.Kind] / n * float64(len(train)) / 3
	}
}

// A descent is an AdaGrad descent.
type descent struct {
	*weights
	decay      float64
	squares    []float32
	biasSquare float64
}

func newDescent(o settings, texts int) *descent {
	size := injection.Features
	if o.vectors {
		size += injection.VectorSize
	}
	d := &descent{
		weights: &weights{settings: o, bias: o.bias, dense: make([]float32, size)},
		decay:   o.decay * float64(texts), squares: make([]float32, size), biasSquare: 1e-6,
	}
	if !o.vectors {
		for id := range d.dense {
			d.dense[id] = prior(id)
		}
	}
	return d
}

// prior is the weight that a feature has until texts speak against it. Rules say what attacks ask
// for, so they also count for kinds of attacks that the sample lacks.
func prior(id int) float32 {
	if injection.IsRule(id) {
		return 2
	}
	return 0
}

// step moves the weights of a window against the gradient.
func (d *descent) step(w *window, step float64) {
	d.biasSquare += step * step
	d.bias -= d.rate * step / math.Sqrt(d.biasSquare)
	if !d.vectors {
		for _, x := range w.features {
			d.move(int(x.ID), step*float64(x.Value))
		}
		return
	}
	for k, v := range w.vector {
		d.move(injection.Features+k, step*float64(v))
	}
}

func (d *descent) move(id int, gradient float64) {
	gradient += d.decay * float64(d.dense[id]-prior(id))
	d.squares[id] += float32(gradient * gradient)
	d.dense[id] -= float32(d.rate * gradient / (1e-3 + math.Sqrt(float64(d.squares[id]))))
}
