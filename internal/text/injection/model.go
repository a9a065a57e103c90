package injection

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
)

// A Model holds the weights of a window's features. It is immutable.
type Model struct {
	// Fitted names the training data, command and date.
	Fitted string `json:"fitted"`
	// Checksum is the SHA-256 of the weights in hex; see Seal.
	Checksum string  `json:"checksum"`
	Words    Weights `json:"words"`
}

// Weights are those of features.
type Weights struct {
	Bias       float64            `json:"bias"`
	Thresholds Thresholds         `json:"thresholds"`
	Named      map[string]float64 `json:"named,omitempty"` // of features with names
	Ngrams     Quantised          `json:"ngrams,omitzero"`
	dense      []float32          // of features, by id
}

// Thresholds are the lowest flagged scores by Origin, in (0, 1).
type Thresholds [Origins]float64

// Quantised numbers are base64 bytes, each multiplied by Scale.
type Quantised struct {
	Scale float64 `json:"scale"`
	Bytes string  `json:"bytes"`
}

// quantise rounds numbers to 8 bits.
func quantise(numbers []float32) Quantised {
	most := 0.0
	for _, v := range numbers {
		most = max(most, math.Abs(float64(v)))
	}
	if most == 0 {
		most = 1
	}
	scale := float64(float32(most / 127))
	raw := make([]byte, len(numbers))
	for i, v := range numbers {
		raw[i] = byte(int8(math.Round(float64(v) / scale)))
	}
	return Quantised{scale, base64.StdEncoding.EncodeToString(raw)}
}

func (q Quantised) numbers(want int) ([]float32, error) {
	raw, err := base64.StdEncoding.DecodeString(q.Bytes)
	if err != nil {
		return nil, err
	}
	if len(raw) != want {
		return nil, fmt.Errorf("%d numbers, want %d", len(raw), want)
	}
	if most := maxWeight / 128; !(math.Abs(q.Scale) <= most) {
		return nil, fmt.Errorf("scale is %g, want at most %g in size", q.Scale, most)
	}
	numbers := make([]float32, want)
	for i, b := range raw {
		numbers[i] = float32(int8(b)) * float32(q.Scale)
	}
	return numbers, nil
}

// NewWeights takes the weights of features by ID.
func NewWeights(dense []float32, bias float64, thresholds Thresholds) (Weights, error) {
	w := Weights{Bias: bias, Thresholds: thresholds, Named: map[string]float64{}}
	for id := range firstNgram {
		if name := nameOf(id); name != "" && dense[id] != 0 {
			w.Named[name] = math.Round(float64(dense[id])*1000) / 1000
		}
	}
	w.Ngrams = quantise(dense[firstNgram:Features])
	return w, w.unpack()
}

// maxWeight bounds weights so that no sum overflows. Fitted weights are far smaller.
const maxWeight = 1e6

// check refuses numbers that no fit gives.
func (w *Weights) check() error {
	for _, t := range w.Thresholds {
		if !(t > 0 && t < 1) {
			return fmt.Errorf("threshold is %g, want it between 0 and 1", t)
		}
	}
	if !(math.Abs(w.Bias) <= maxWeight) {
		return fmt.Errorf("bias is %g, want at most %g in size", w.Bias, maxWeight)
	}
	return nil
}

// unpack checks the weights and makes the dense form.
func (w *Weights) unpack() error {
	if err := w.check(); err != nil {
		return err
	}
	ids := namedIDs()
	w.dense = make([]float32, Features)
	for name, v := range w.Named {
		id, ok := ids[name]
		if !ok {
			return fmt.Errorf("no feature is called %q", name)
		}
		if !(math.Abs(v) <= maxWeight) {
			return fmt.Errorf("weight of %q is %g, want at most %g in size", name, v, maxWeight)
		}
		w.dense[id] = float32(v)
	}
	ngrams, err := w.Ngrams.numbers(buckets)
	if err != nil {
		return fmt.Errorf("n-grams: %w", err)
	}
	copy(w.dense[firstNgram:], ngrams)
	return nil
}

var namedIDs = sync.OnceValue(func() map[string]uint32 {
	ids := map[string]uint32{}
	for id := range firstNgram {
		if name := nameOf(id); name != "" {
			ids[name] = id
		}
	}
	return ids
})

// Score returns the score of a window, in (0, 1).
func (w *Weights) Score(features []Feature) float64 {
	sum := w.Bias
	for _, f := range features {
		sum += float64(w.dense[f.ID] * f.Value)
	}
	return 1 / (1 + math.Exp(-sum))
}

// sum returns the checksum of the model without its Checksum.
func (m Model) sum() string {
	m.Checksum = ""
	text, err := json.Marshal(m)
	if err != nil {
		return "" // unreachable: all fields can be marshalled
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Seal sets the checksum.
func (m *Model) Seal() { m.Checksum = m.sum() }

// ErrModel marks errors of an unusable model.
var ErrModel = errors.New("injection model is damaged")

// Parse reads a model and checks it.
func Parse(text []byte) (*Model, error) {
	var m Model
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if got := m.sum(); got != m.Checksum {
		return nil, fmt.Errorf("%w: its checksum is %s, the file says %s", ErrModel, got, m.Checksum)
	}
	if err := m.Words.unpack(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	return &m, nil
}

//go:embed models/injection.json
var shipped []byte

// Shipped returns the model in the binary.
var Shipped = sync.OnceValue(func() *Model {
	m, err := Parse(shipped)
	if err != nil {
		panic(err) // a test parses it
	}
	return m
})
