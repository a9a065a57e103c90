package relevance

import (
	"cmp"
	"math"
	"unicode"

	"github.com/memcore/memcore/internal/text/prompt"
)

// valueWeights weigh the terms of a Value, by the names of valueNames. They are those of a logistic
// regression of 540 judged prompts of 19 repositories (lab/turns): which candidate a working agent
// wants. More terms, such as headings, words of decisions or the nearest clause of the prompt,
// serve repositories worse that the regression had not seen.
var valueWeights = map[string]float64{
	"cosine":   2.81,  // on the scale of Model.Nearness; 0 without one
	"keywords": 1.34,  // BM25 ÷ best BM25
	"user":     -0.53, // 1 if a user says it
	"length":   0.06,  // ln of the tokens
	"later":    -0.66, // ln(1 + Candidate.Later)
	"document": -0.84, // 1 if nobody says it
}

const (
	// rareEnough is a share of the greatest idf: at most a tenth of all chunks hold the word.
	rareEnough = 0.3
)

// A Prompt is a prompt taken apart.
type Prompt = prompt.Prompt

// TellingWords weighs q.Words: 0 for words of any prompt, names of files and frequent words, else
// 1.
func TellingWords(p Prompt, q Query) []float64 {
	counts := make([]float64, len(q.Words))
	greatest := idf(1, q.Chunks)
	for i, w := range q.Words {
		switch {
		case !prompt.IsTelling(w.Text) || p.NamesFile(w.Text):
		case w.Records > 0 && idf(w.Records, q.Chunks) < rareEnough*greatest:
		case unspacedWord(w.Text):
			counts[i] = ofPair
		default:
			counts[i] = 1
		}
	}
	return counts
}

func idf(holders, all int) float64 {
	n, of := float64(max(holders, 1)), float64(max(all, 1))
	return math.Log(1 + (of-n+0.5)/(n+0.5))
}

func unspacedWord(word string) bool {
	for _, r := range word {
		return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
	}
	return false
}

// Value orders the candidates of a prompt by how likely a working agent wants them, better than
// Rank does for prompts that ask nothing. best is the best BM25 of all candidates. It has no unit.
func (m *Model) Value(c Candidate, best float64) float64 {
	w := valueWeights
	value := w["keywords"]*Share(c.BM25, best) + w["user"]*yes(c.Speaker == "user") + w["document"]*yes(c.Speaker == "") +
		w["length"]*math.Log(float64(max(c.Tokens, 1))) + w["later"]*math.Log1p(float64(c.Later))
	if c.Cosine != nil {
		value += w["cosine"] * m.Nearness(*c.Cosine)
	}
	return value
}

// HoldsMost reports whether a candidate is near and holds most telling words: even a short prompt
// wants it.
func (m *Model) HoldsMost(telling []float64, q Query, c Candidate) bool {
	if MassOf(telling, c.Holds) < 2 || c.Cosine != nil && m.Nearness(*c.Cosine) < minNear {
		return false
	}
	weights, all := make([]float64, len(telling)), 0.0
	for i, count := range telling {
		if w := q.Words[i]; count > 0 && (w.Records > 0 || !w.Compound) {
			weights[i] = count * idf(w.Records, q.Chunks)
			all += weights[i]
		}
	}
	return MassOf(weights, c.Holds) >= maxShare*all
}

const (
	maxShare = 0.6 // of the idf of all telling words
	minNear  = 0.4 // cosine, on the scale that other embedders are put on
)

// Near is the cosine on a scale from which on a chunk is near a prompt.
func (s Scale) Near() float64 { return max(round4(shipped()[otherFile].Cosines.On(s, minNear)), 0) }

// Nearness is a cosine on the scale of the Turn model, where minNear is near: linear, and 1 is 1.
func (m *Model) Nearness(cosine float64) float64 {
	near := cmp.Or(m.Near, minNear)
	return 1 - (1-cosine)*(1-minNear)/(1-near)
}
