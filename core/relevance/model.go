package relevance

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A Model is fitted for an embedder. It is immutable.
type Model struct {
	// Fitted names the training data, command and date.
	Fitted string `json:"fitted"`
	// Embedders are prefixes of fingerprints; none in the models for keywords and unknown
	// embedders.
	Embedders []string `json:"embedders,omitempty"`
	// Scripts that the embedder knows, by Unicode name; none is all.
	Scripts []string `json:"scripts,omitempty"`
	// Cosines is the scale of the training cosines, for other embedders.
	Cosines Scale `json:"cosines,omitempty"`
	// Languages are those that the embedder knows, in ISO 639-1; none is all. In others, keywords
	// alone answer.
	Languages []string `json:"languages,omitempty"`
	// Spread is the usual distance from the nearest cosine to the Near-th; 0 takes each question's
	// own.
	Spread float64 `json:"spread,omitempty"`
	// Near is the least cosine of what is near a prompt (Scale.Near); 0 is that of Cosines.
	Near float64 `json:"near,omitempty"`
	// Weights are by term, for kinds that Kinds lacks.
	Weights map[string]float64 `json:"rank"`
	// Kinds are weights by kind (KindOf) and term.
	Kinds map[string]map[string]float64 `json:"kinds,omitempty"`
	Score Logistic                      `json:"score"`
	// Calibration are points [predicted, observed] of a rising polygon, without its ends.
	Calibration [][2]float64 `json:"calibration,omitempty"`
	// Threshold is the default for the least score in a turn.
	Threshold float64 `json:"threshold"`
	// Across serves questions to chunks in another language (Query.Across), for which nearness
	// decides; nil if the model itself does.
	Across *Model `json:"across,omitempty"`
}

// Logistic holds the coefficients of the logistic function, none below 0.
type Logistic struct {
	Bias           float64 `json:"bias"`
	Cosine         float64 `json:"cosine,omitempty"`
	Clear          float64 `json:"clear,omitempty"`
	Share          float64 `json:"share,omitempty"`
	Mass           float64 `json:"mass,omitempty"`
	MassClear      float64 `json:"massClear,omitempty"`
	CosineShare    float64 `json:"cosineShare,omitempty"`
	CosineMass     float64 `json:"cosineMass,omitempty"`
	UnknownNames   float64 `json:"unknownNames,omitempty"`
	UnknownNumbers float64 `json:"unknownNumbers,omitempty"`

	Behind       float64 `json:"behind"`
	CosineBehind float64 `json:"cosineBehind,omitempty"`
	ShareBehind  float64 `json:"shareBehind,omitempty"`
}

// coefficients are in the order of Certainty.terms.
func (l Logistic) coefficients() [9]float64 {
	return [9]float64{l.Cosine, l.Clear, l.Share, l.Mass, l.MassClear, l.CosineShare, l.CosineMass, l.UnknownNames, l.UnknownNumbers}
}

//go:embed models/*.json
var files embed.FS

const (
	keywordsFile = "keywords.json" // no vectors
	otherFile    = "other.json"    // an embedder that no model was fitted to
)

var shipped = sync.OnceValue(func() map[string]*Model {
	all := map[string]*Model{}
	names, err := fs.Glob(files, "models/*.json")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		m, err := Parse(data)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", name, err)) // TestShippedModels reads them all
		}
		all[path.Base(name)] = m
	}
	return all
})

// For takes an embedder's fingerprint; "" is no embedder.
func For(fingerprint string) *Model {
	if fingerprint == "" {
		return Keywords()
	}
	for _, m := range shipped() {
		if slices.ContainsFunc(m.Embedders, func(prefix string) bool { return strings.HasPrefix(fingerprint, prefix) }) {
			return m
		}
	}
	return shipped()[otherFile]
}

// Keywords returns the model for keywords alone.
func Keywords() *Model { return shipped()[keywordsFile] }

// Parse reads and checks a model.
func Parse(data []byte) (*Model, error) {
	m := &Model{}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(m); err != nil {
		return nil, fmt.Errorf("relevance model: %w", err)
	}
	return m, m.check()
}

// maxWeight keeps sums from overflowing; fitted weights are below 100.
const maxWeight = 1e6

func (m *Model) check() error {
	if err := checkWeights(m.Weights); err != nil {
		return err
	}
	for kind, weights := range m.Kinds {
		if !slices.Contains(Kinds, kind) {
			return fmt.Errorf("relevance model: kinds has %q, want one of %s", kind, strings.Join(Kinds, ", "))
		}
		if err := checkWeights(weights); err != nil {
			return err
		}
	}
	if m.Spread != 0 && !(m.Spread >= minSpread && m.Spread <= 2) {
		return fmt.Errorf("relevance model: spread is %g, want %g to 2, or 0 for none", m.Spread, minSpread)
	}
	if len(m.Cosines) > 0 && !m.Cosines.usable() {
		return fmt.Errorf("relevance model: cosines are %v, want %d that rise within [-1, 1]", m.Cosines, len(quantiles))
	}
	if !(m.Near >= 0 && m.Near <= 1) {
		return fmt.Errorf("relevance model: near is %g, want it from 0 to 1", m.Near)
	}
	s := m.Score
	known := s.coefficients()
	all := append(known[:], s.Behind, s.CosineBehind, s.ShareBehind)
	if slices.Min(all) < 0 {
		return errors.New("relevance model: a coefficient of score is below 0: more evidence must not make a score smaller")
	}
	for _, c := range append(all, s.Bias) {
		if !(math.Abs(c) <= maxWeight) {
			return fmt.Errorf("relevance model: a coefficient of score is %g, want at most %g in size", c, maxWeight)
		}
	}
	before := [2]float64{}
	for _, p := range append(slices.Clip(m.Calibration), [2]float64{1, 1}) {
		if p[0] <= before[0] || p[1] < before[1] {
			return fmt.Errorf("relevance model: calibration does not rise from %v to %v", before, p)
		}
		before = p
	}
	if m.Across != nil {
		if m.Across.Across != nil {
			return errors.New("relevance model: across has an across of its own")
		}
		if err := m.Across.check(); err != nil {
			return fmt.Errorf("across: %w", err)
		}
	}
	for _, name := range m.Scripts {
		if unicode.Scripts[name] == nil {
			return fmt.Errorf("relevance model: %q is no script of Unicode", name)
		}
	}
	if m.Threshold <= 0 || m.Threshold >= 1 {
		return fmt.Errorf("relevance model: threshold is %g, want it between 0 and 1", m.Threshold)
	}
	return nil
}

// minSpread keeps a term from becoming huge.
const minSpread = 1e-3

func checkWeights(weights map[string]float64) error {
	for name, weight := range weights {
		switch {
		case !slices.Contains(Names, name):
			return fmt.Errorf("relevance model: rank has %q, want one of %s", name, strings.Join(Names, ", "))
		case !(math.Abs(weight) <= maxWeight):
			return fmt.Errorf("relevance model: weight of %s is %g, want at most %g in size", name, weight, maxWeight)
		case IsEvidence(name) && weight < 0:
			return fmt.Errorf("relevance model: weight of %s is %g, want at least 0: more evidence must not make a score smaller", name, weight)
		}
	}
	return nil
}

// KnowsLanguage takes ISO 639-1; "" is English or unknown.
func (m *Model) KnowsLanguage(language string) bool {
	return language == "" || len(m.Languages) == 0 || slices.Contains(m.Languages, language)
}

// Knows reports whether the embedder knows half of a text's letters.
func (m *Model) Knows(text string) bool {
	if len(m.Scripts) == 0 {
		return true
	}
	known, letters := 0, 0
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		if r < unicode.MaxASCII || slices.ContainsFunc(m.Scripts, func(name string) bool { return unicode.Is(unicode.Scripts[name], r) }) {
			known++
		}
	}
	return 2*known >= letters
}
