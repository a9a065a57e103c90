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

// A Scale is what cosines of questions and texts are with an embedder: quantiles of those of the
// anchors, of each question with each text. What one embedder calls near is chance with another;
// quantiles say which of their cosines mean the same. It does not depend on a memory, so that it
// holds for one of five chunks as well.
type Scale []float64

// quantiles are which ones a Scale has. Of the pairs of anchors, one in twenty belongs together.
var quantiles = []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.945, 0.96, 0.975, 0.99}

// anchors are questions, each with a text that answers it, of the kinds that memories hold.
//
//go:embed anchors.txt
var anchors string

// Anchors returns the questions and texts that an embedder's Scale is measured with.
func Anchors() (questions, texts []string) {
	for line := range strings.Lines(anchors) {
		question, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		questions, texts = append(questions, question), append(texts, text)
	}
	return questions, texts
}

// Measure returns the Scale of an embedder. The functions embed questions and texts; they may be
// the same.
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

// ErrScale is what Measure's error wraps if the cosines of an embedder tell nothing apart.
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

// usable reports whether all quantiles are there and rise on the whole.
func (s Scale) usable() bool {
	if len(s) != len(quantiles) || !slices.IsSorted(s) {
		return false
	}
	first, last := s[0], s[len(s)-1]
	return last-first > 1e-3 && first >= -1.001 && last <= 1.001
}

// On returns the cosine that means on another scale what a cosine means on this one: by straight
// lines between the quantiles; outside of them, by the slope of all.
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

// Rescaled returns a question and its candidates with cosines on the scale that the model knows,
// given the embedder's; "" of which nothing is known, it leaves the question to keywords. A model
// for one embedder knows its scale.
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
