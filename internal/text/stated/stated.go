// Package stated tells whether a sentence of a user states something that is worth knowing in later
// sessions: a rule, a preference, a decision, a fact or a correction.
//
// How people say such things has no end of forms, of which patterns of words found one in ten in
// sessions that they were not written for. So a linear model decides, of the words and their
// neighbours, which lab/stated fits to labelled sentences in fourteen languages.
package stated

import (
	_ "embed" // for the model
	"encoding/json"
	"math"
	"sync"
)

// Kinds of statements.
const (
	Rule       = iota // how something shall be done
	Preference        // what the user likes
	Decision
	Fact
	Correction // what is wrong, and what is right
	Kinds      // how many there are
)

// Outputs of the model: whether a sentence states something and, if it does, whether that stands for
// all later work, and of which kind it is.
const (
	States = iota
	Stands
	FirstKind
	Outputs = FirstKind + Kinds
)

// A Model is linear in Features, whose sum for an output is that of a logistic function, or of a
// softmax over kinds.
type Model struct {
	Fitted     string           `json:"fitted"` // the data, the tool and the date
	Bias       [Outputs]float64 `json:"bias"`
	Thresholds [2]float64       `json:"thresholds"` // of the probabilities of States and Stands
	// Scale times a byte of Weights, as a signed number, is a weight: of each bucket, all outputs.
	Scale   float64 `json:"scale"`
	Weights []byte  `json:"weights"`
}

//go:embed model.json
var shippedModel []byte

// Shipped returns the model of the program. Do not change it.
var Shipped = sync.OnceValue(func() *Model {
	var m Model
	if err := json.Unmarshal(shippedModel, &m); err != nil {
		panic(err) // a test reads it
	}
	return &m
})

// Score returns the outputs for features, before any logistic function.
func (m *Model) Score(features []Feature) (out [Outputs]float64) {
	out = m.Bias
	for _, f := range features {
		for k, b := range m.Weights[int(f.Bucket)*Outputs:][:Outputs] {
			out[k] += float64(int8(b)) * m.Scale * float64(f.Value)
		}
	}
	return out
}

// A Finding is what a sentence states.
type Finding struct {
	Kind     int     // Rule to Correction
	Standing bool    // it holds for all later work
	Sure     float64 // the probability that it states something that stands; 0 unless Standing
}

// Classify returns what a sentence states by the shipped model; ok is false if it states nothing.
func Classify(sentence string, at Place) (found Finding, ok bool) {
	m := Shipped()
	out := m.Score(Features(sentence, at))
	states, stands := Logistic(out[States]), Logistic(out[Stands])
	if states < m.Thresholds[States] {
		return Finding{}, false
	}
	for k := range Kinds {
		if out[FirstKind+k] > out[FirstKind+found.Kind] {
			found.Kind = k
		}
	}
	if stands >= m.Thresholds[Stands] {
		found.Standing, found.Sure = true, math.Round(states*stands*100)/100
	}
	return found, true
}

// Logistic makes a probability of the output States or Stands.
func Logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
