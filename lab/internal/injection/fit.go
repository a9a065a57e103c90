package injection

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/memcore/memcore/internal/text/injection"
)

// Settings of the descent, chosen by cross-validation.
const (
	epochs    = 24
	rate      = 0.15
	decay     = 4e-7 // L2
	startBias = -2
)

// weights are a fit.
type weights struct {
	bias  float64
	dense []float32 // of features
}

func (f *weights) score(w *window) float64 {
	sum := f.bias
	for _, x := range w.features {
		sum += float64(f.dense[x.ID] * x.Value)
	}
	return sum
}

// highest returns the highest score of the windows and its index.
func (f *weights) highest(windows []window) (score float64, place int) {
	score, place = math.Inf(-1), -1
	for i := range windows {
		if s := f.score(&windows[i]); s > score {
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
func (s *sample) fit(train []int) *weights {
	order := slices.Clone(train)
	d := newDescent(len(order))
	weightOf := s.textWeights(order)
	random := rand.New(rand.NewPCG(1, 2))
	rests := make([]int, len(s.texts))
	for epoch := range epochs {
		random.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		for _, i := range order {
			t, windows := s.texts[i], s.windows[i]
			if rests[i] > 0 {
				rests[i]--
				continue
			}
			score, at := d.highest(windows)
			if at < 0 {
				continue // a text without windows
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
			if epoch == 0 && t.isAttack() { // the attack's window is not known yet
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

func newDescent(texts int) *descent {
	d := &descent{
		weights: &weights{bias: startBias, dense: make([]float32, injection.Features)},
		decay:   decay * float64(texts), squares: make([]float32, injection.Features), biasSquare: 1e-6,
	}
	for id := range d.dense {
		d.dense[id] = prior(id)
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
	d.bias -= rate * step / math.Sqrt(d.biasSquare)
	for _, x := range w.features {
		d.move(int(x.ID), step*float64(x.Value))
	}
}

func (d *descent) move(id int, gradient float64) {
	gradient += d.decay * float64(d.dense[id]-prior(id))
	d.squares[id] += float32(gradient * gradient)
	d.dense[id] -= float32(rate * gradient / (1e-3 + math.Sqrt(float64(d.squares[id]))))
}
