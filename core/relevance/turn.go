package relevance

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"unicode"

	"github.com/memcore/memcore/internal/text/prompt"
)

// A Turn model predicts whether a working agent wants a candidate, by the prompt's kind and telling
// words. Scores cannot: most prompts ask nothing.
type Turn struct {
	Fitted  string             `json:"fitted"`
	Bias    float64            `json:"bias"`
	Weights map[string]float64 `json:"weights"` // by the names of TurnNames
	// Earlier, at most 0, is added for each ln(1 + earlier prompts of the conversation): what a
	// prompt refers to is there already.
	Earlier float64 `json:"earlier"`
	Least   float64 `json:"least"` // least Worth of a given candidate, in (0, 1)
}

// TurnNames are the terms of a Worth. More of them, such as the prompt's form or who speaks, serve
// repositories worse that the model was not fitted to.
var TurnNames = []string{
	"held",    // telling words of the prompt that the candidate holds, at most mostHeld
	"finding", // 1 if the candidate has a finding, decision or result
}

//go:embed turn.json
var turnFile []byte

// ForTurns returns memcore's own Turn model.
var ForTurns = sync.OnceValue(func() *Turn {
	t := &Turn{}
	if err := json.Unmarshal(turnFile, t); err != nil {
		panic(err) // TestTurnModel reads it
	}
	return t
})

const (
	mostHeld = 6
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

// TurnEvidence returns the terms of Worth, in the order of TurnNames.
func TurnEvidence(telling []float64, c Candidate) []float64 {
	return []float64{min(massOf(telling, c.Holds), mostHeld), yes(hasFinding(c.Text))}
}

func earlier(q Query) float64 { return math.Log1p(float64(max(q.Earlier, 0))) }

// Now is the probability that what has a score is wanted after the conversation's earlier prompts.
func (t *Turn) Now(q Query, score float64) float64 {
	if score <= 0 || score >= 1 {
		return score
	}
	return logistic(math.Log(score/(1-score)) + t.Earlier*earlier(q))
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// HoldsMost reports whether a candidate is near and holds most telling words: even a short prompt
// wants it.
func (m *Model) HoldsMost(telling []float64, q Query, c Candidate) bool {
	if massOf(telling, c.Holds) < 2 || c.Cosine != nil && *c.Cosine < cmp.Or(m.Near, leastNear) {
		return false
	}
	weights, all := make([]float64, len(telling)), 0.0
	for i, count := range telling {
		if w := q.Words[i]; count > 0 && (w.Records > 0 || !w.Compound) {
			weights[i] = count * idf(w.Records, q.Chunks)
			all += weights[i]
		}
	}
	return massOf(weights, c.Holds) >= mostShare*all
}

const (
	mostShare = 0.6 // of the idf of all telling words
	leastNear = 0.4 // cosine, on the scale that other embedders are put on
)

// Near is the cosine on a scale from which on a chunk is near a prompt.
func (s Scale) Near() float64 { return max(round4(shipped()[otherFile].Cosines.On(s, leastNear)), 0) }

// Worth is the probability, in (0, 1), of being wanted.
func (t *Turn) Worth(evidence []float64) float64 {
	x := t.Bias
	for i, name := range TurnNames {
		x += t.Weights[name] * evidence[i]
	}
	return logistic(x)
}

// OrderForTurn sorts, better than Rank for prompts that ask nothing: by cosine, half the relative
// BM25, and a little for long findings; users' requests count less.
func OrderForTurn[T any](all []T, of func(T) Candidate) {
	best := 0.0
	for _, one := range all {
		best = max(best, of(one).BM25)
	}
	value := make(map[string]float64, len(all))
	for _, one := range all {
		c := of(one)
		v := 0.5*Share(c.BM25, best) - 0.15*yes(c.Speaker == "user") + 0.05*math.Log(float64(max(c.Tokens, 1))) + 0.1*yes(hasFinding(c.Text))
		if c.Cosine != nil {
			v += *c.Cosine
		}
		value[c.ID] = v
	}
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(value[of(b).ID], value[of(a).ID]) })
}
