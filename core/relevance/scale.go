package relevance

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Scale describes an embedder's cosines by quantiles of those of anchors. Equal quantiles of two
// embedders mean the same.
type Scale []float64

// One in twenty pairs of anchors belongs together.
var quantiles = []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.945, 0.96, 0.975, 0.99}

// anchors are questions, each with its answer, of the kinds that memories hold.
//
//go:embed anchors.txt
var anchors string

// Anchors returns what a Scale is measured with.
func Anchors() (questions, texts []string) {
	for line := range strings.Lines(anchors) {
		question, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		questions, texts = append(questions, question), append(texts, text)
	}
	return questions, texts
}

// Measure returns an embedder's Scale. Both functions may be the same.
func Measure(ctx context.Context, embedQuestions, embedTexts func(context.Context, []string) ([][]float32, error)) (Scale, error) {
	questions, texts := Anchors()
	asked, err := embedQuestions(ctx, questions)
	if err != nil {
		return nil, fmt.Errorf("measure the scale of cosines: %w", err)
	}
	said, err := embedTexts(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("measure the scale of cosines: %w", err)
	}
	var cosines []float64
	for _, q := range asked {
		for _, t := range said {
			cosines = append(cosines, dot(q, t))
		}
	}
	return scaleOf(cosines)
}

// ErrScale means that all cosines are the same.
var ErrScale = errors.New("cosines are all the same")

func scaleOf(cosines []float64) (Scale, error) {
	slices.Sort(cosines)
	var s Scale
	for _, q := range quantiles {
		at := q * float64(len(cosines)-1)
		below := int(at)
		above := min(below+1, len(cosines)-1)
		s = append(s, round4(cosines[below]+(at-float64(below))*(cosines[above]-cosines[below])))
	}
	if !s.usable() {
		return nil, fmt.Errorf("measure the scale of cosines: quantiles are %.4f: %w", s, ErrScale)
	}
	return s, nil
}

func round4(x float64) float64 { return math.Round(x*1e4) / 1e4 }

func dot(a, b []float32) (sum float64) {
	var lengthA, lengthB float64
	for i := range min(len(a), len(b)) {
		x, y := float64(a[i]), float64(b[i])
		sum, lengthA, lengthB = sum+x*y, lengthA+x*x, lengthB+y*y
	}
	if lengthA == 0 || lengthB == 0 {
		return 0
	}
	return sum / math.Sqrt(lengthA*lengthB)
}

// usable reports whether the quantiles are complete and rise.
func (s Scale) usable() bool {
	if len(s) != len(quantiles) || !slices.IsSorted(s) {
		return false
	}
	first, last := s[0], s[len(s)-1]
	return last-first > 1e-3 && first >= -1.001 && last <= 1.001
}

// On converts a cosine to another scale, linearly between the quantiles.
func (s Scale) On(other Scale, cosine float64) float64 {
	last := len(s) - 1
	slope := (other[last] - other[0]) / (s[last] - s[0])
	var is float64
	switch i, _ := slices.BinarySearch(s, cosine); {
	case i == 0:
		is = other[0] + slope*(cosine-s[0])
	case i > last:
		is = other[last] + slope*(cosine-s[last])
	case s[i] == s[i-1]:
		is = other[i]
	default:
		is = other[i-1] + (other[i]-other[i-1])*(cosine-s[i-1])/(s[i]-s[i-1])
	}
	return min(max(is, -1), 1)
}

// Rescaled puts cosines on the model's scale. Without a usable scale it leaves the question to
// keywords.
func (m *Model) Rescaled(q Query, candidates []Candidate, embedders Scale) (Query, []Candidate) {
	if len(m.Cosines) == 0 || !q.Vectors {
		return q, candidates
	}
	if !embedders.usable() {
		q.Vectors = false
		return q, candidates
	}
	candidates = slices.Clone(candidates)
	for i, c := range candidates {
		if c.Cosine != nil {
			cosine := embedders.On(m.Cosines, *c.Cosine)
			candidates[i].Cosine = &cosine
		}
	}
	return q, candidates
}
