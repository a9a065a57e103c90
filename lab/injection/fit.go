package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/memcore/memcore/internal/text/injection"
)

// Settings of the descent.
const (
	epochs    = 24
	rate      = 0.15
	decay     = 4e-7 // L2, times the number of texts
	startBias = -2
)

// alarms are the shares of notes that are flagged if the user wrote them, and if others did.
var alarms = [injection.Origins]float64{injection.Own: 0.006, injection.Foreign: 0.015}

// A descent is an AdaGrad descent of a logistic function.
type descent struct {
	bias, biasSquare, decay float64
	dense, squares          []float64
}

// fit moves the highest window of an attack above the threshold, and that of a note below.
func fit(texts []labelled) *injection.Weights {
	texts = slices.DeleteFunc(slices.Clone(texts), func(t labelled) bool { return t.Kind == buried })
	windows := make([][][]injection.Feature, len(texts))
	for i, t := range texts {
		windows[i] = injection.Measure(t.Text)
	}
	d := &descent{bias: startBias, biasSquare: 1e-6, decay: decay * float64(len(texts)),
		dense: make([]float64, injection.Features), squares: make([]float64, injection.Features)}
	random := rand.New(rand.NewPCG(1, 2))
	for range epochs {
		for _, i := range random.Perm(len(texts)) {
			if score, at := d.highest(windows[i]); at >= 0 {
				step := 1 / (1 + math.Exp(-score))
				if texts[i].Kind == attack {
					step--
				}
				d.step(windows[i][at], step)
			}
		}
	}
	var notes []float64
	for i, t := range texts {
		if score, at := d.highest(windows[i]); t.Kind == note && at >= 0 {
			notes = append(notes, 1/(1+math.Exp(-score)))
		}
	}
	return d.weights(fmt.Sprintf("%d texts, by lab/injection, %s", len(texts), time.Now().Format(time.DateOnly)), notes)
}

// highest returns the highest score of the windows and its index.
func (d *descent) highest(windows [][]injection.Feature) (score float64, at int) {
	score, at = math.Inf(-1), -1
	for i, features := range windows {
		sum := d.bias
		for _, f := range features {
			sum += d.dense[f.ID] * float64(f.Value)
		}
		if sum > score {
			score, at = sum, i
		}
	}
	return score, at
}

// step moves the weights of a window against the gradient.
func (d *descent) step(features []injection.Feature, step float64) {
	d.biasSquare += step * step
	d.bias -= rate * step / math.Sqrt(d.biasSquare)
	for _, f := range features {
		gradient := step*float64(f.Value) + d.decay*d.dense[f.ID]
		d.squares[f.ID] += gradient * gradient
		d.dense[f.ID] -= rate * gradient / (1e-3 + math.Sqrt(d.squares[f.ID]))
	}
}

// weights rounds the weights, with thresholds above all but some of the notes' scores.
func (d *descent) weights(fitted string, notes []float64) *injection.Weights {
	names := injection.Names()
	w := &injection.Weights{Fitted: fitted, Bias: d.bias, Named: map[string]float64{}}
	for id, name := range names {
		w.Named[name] = math.Round(d.dense[id]*1000) / 1000
	}
	for _, v := range d.dense[len(names):] {
		w.Scale = max(w.Scale, math.Abs(v)/127)
	}
	for _, v := range d.dense[len(names):] {
		w.Ngrams = append(w.Ngrams, byte(int8(math.Round(v/w.Scale))))
	}
	slices.SortFunc(notes, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	for from, share := range alarms {
		w.Thresholds[from] = notes[int(share*float64(len(notes)))] + 1e-6
	}
	return w
}
