package injection

import (
	_ "embed"
	"encoding/json"
	"math"
	"sync"
)

// Weights are those of features, and the lowest scores that are flagged. The shipped ones were
// fitted once, before shapes that changed nothing were taken out; lab/injection can fit others.
type Weights struct {
	// Fitted names the texts and the date.
	Fitted     string             `json:"fitted"`
	Bias       float64            `json:"bias"`
	Thresholds [Origins]float64   `json:"thresholds"` // in (0, 1)
	Named      map[string]float64 `json:"named"`      // of features with names
	// Scale times a byte of Ngrams, as a signed number, is the weight of a bucket.
	Scale  float64 `json:"scale"`
	Ngrams []byte  `json:"ngrams"`
	dense  []float32
}

//go:embed weights.json
var shippedWeights []byte

// shipped returns the weights in the program.
var shipped = sync.OnceValue(func() *Weights {
	var w Weights
	if err := json.Unmarshal(shippedWeights, &w); err != nil {
		panic(err) // a test reads them
	}
	w.unpack()
	return &w
})

// unpack makes the weights by ID.
func (w *Weights) unpack() {
	w.dense = make([]float32, Features)
	for id, name := range Names() {
		w.dense[id] = float32(w.Named[name])
	}
	for i, b := range w.Ngrams {
		w.dense[int(firstNgram)+i] = float32(int8(b)) * float32(w.Scale)
	}
}

// score returns the score of a window, in [0, 1].
func (w *Weights) score(features []Feature) float64 {
	sum := w.Bias
	for _, f := range features {
		sum += float64(w.dense[f.ID] * f.Value)
	}
	return 1 / (1 + math.Exp(-sum))
}
