package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/memcore/memcore/internal/text/stated"
)

// Settings of the descent, and the shipped thresholds.
const (
	epochs    = 15
	rate      = 0.1
	decay     = 1e-7 // L2, times the number of sentences
	minStates = 0.4
	minStands = 0.45
)

// A linear model is not yet rounded.
type linear struct {
	bias    [stated.Outputs]float64
	weights [][stated.Outputs]float64 // by bucket
}

// fit fits logistic functions to whether sentences state something and, for those that do, whether it
// stands, and a softmax to the kinds of these, by AdaGrad.
func fit(all []sentence) *linear {
	m := &linear{weights: make([][stated.Outputs]float64, stated.Buckets)}
	squares := make([][stated.Outputs]float64, stated.Buckets)
	var biasSquares [stated.Outputs]float64
	l2 := decay * float64(len(all))
	random := rand.New(rand.NewPCG(1, 2))
	for range epochs {
		for _, i := range random.Perm(len(all)) {
			s := all[i]
			slope := m.slope(s)
			for k, g := range slope {
				if g != 0 {
					biasSquares[k] += g * g
					m.bias[k] -= rate * g / (1e-3 + math.Sqrt(biasSquares[k]))
				}
			}
			for _, f := range s.features {
				w, square := &m.weights[f.Bucket], &squares[f.Bucket]
				for k, g := range slope {
					if g != 0 {
						g = g*float64(f.Value) + l2*w[k]
						square[k] += g * g
						w[k] -= rate * g / (1e-3 + math.Sqrt(square[k]))
					}
				}
			}
		}
	}
	return m
}

// slope is that of the loss by each output; 0 where a sentence says nothing of one.
func (m *linear) slope(s sentence) (slope [stated.Outputs]float64) {
	out := m.score(s.features)
	slope[stated.States] = stated.Logistic(out[stated.States]) - one(s.states())
	if !s.states() {
		return slope
	}
	slope[stated.Stands] = stated.Logistic(out[stated.Stands]) - one(s.stands())
	ofKinds := out[stated.FirstKind:]
	highest, sum := slices.Max(ofKinds), 0.0
	for _, o := range ofKinds {
		sum += math.Exp(o - highest)
	}
	for k, o := range ofKinds {
		slope[stated.FirstKind+k] = math.Exp(o-highest)/sum - one(k == s.kind())
	}
	return slope
}

func (m *linear) score(features []stated.Feature) (out [stated.Outputs]float64) {
	out = m.bias
	for _, f := range features {
		for k, w := range m.weights[f.Bucket] {
			out[k] += w * float64(f.Value)
		}
	}
	return out
}

func (m *linear) measure(all []sentence) (some []scored) {
	for _, s := range all {
		out := m.score(s.features)
		some = append(some, scored{s, stated.Logistic(out[stated.States]), stated.Logistic(out[stated.Stands])})
	}
	return some
}

// model rounds the weights.
func (m *linear) model(fitted string) stated.Model {
	shipped := stated.Model{Fitted: fitted, Bias: m.bias, Thresholds: [2]float64{minStates, minStands}}
	for _, row := range m.weights {
		for _, w := range row {
			shipped.Scale = max(shipped.Scale, math.Abs(w)/math.MaxInt8)
		}
	}
	for _, row := range m.weights {
		for _, w := range row {
			shipped.Weights = append(shipped.Weights, byte(int8(math.Round(w/shipped.Scale))))
		}
	}
	return shipped
}
