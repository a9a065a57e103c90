package relevance

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"math"
	"sync"
	"unicode"

	"github.com/memcore/memcore/internal/text/prompt"
)

// A Turn model predicts whether a working agent wants a candidate. Scores cannot: most prompts ask
// nothing.
//
// A candidate's Value orders the candidates of a prompt. Its worth follows from that, and from its
// lead over the tenth of them. Where ten chunks are as near as the first, they are near because
// they are of the same project.
type Turn struct {
	Fitted  string             `json:"fitted"`
	Bias    float64            `json:"bias"`
	Weights map[string]float64 `json:"weights"` // of a Value, by the names of TurnNames
	Scale   float64            `json:"scale"`   // weighs a Value; at least 0
	Lead    float64            `json:"lead"`    // weighs what Lead returns; at least 0
	// Words judges what has no cosine.
	Words HeldWords `json:"words"`
	// Earlier, at most 0, is added for each ln(1 + earlier prompts of the conversation): what a
	// prompt refers to is there already.
	Earlier float64 `json:"earlier"`
	Least   float64 `json:"least"` // least worth of a given candidate, in (0, 1)
}

// HeldWords judge by the telling words that a candidate holds.
type HeldWords struct {
	Bias float64 `json:"bias"`
	Held float64 `json:"held"` // for each word, at least 0
}

// TurnNames are the terms of a Value. More of them, such as headings, words of decisions or the
// nearest clause of the prompt, serve repositories worse that the model was not fitted to.
var TurnNames = []string{
	"cosine",   // on the scale of Model.Nearness; 0 without one
	"keywords", // BM25 ÷ best BM25
	"user",     // 1 if a user says it
	"length",   // ln of the tokens
	"later",    // ln(1 + Candidate.Later)
	"document", // 1 if nobody says it
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

// TurnTerms returns the terms of a Value, in the order of TurnNames. best is the best BM25 of all
// candidates.
func (m *Model) TurnTerms(c Candidate, best float64) []float64 {
	cosine := 0.0
	if c.Cosine != nil {
		cosine = m.Nearness(*c.Cosine)
	}
	return []float64{cosine, Share(c.BM25, best), yes(c.Speaker == "user"), math.Log(float64(max(c.Tokens, 1))),
		math.Log1p(float64(c.Later)), yes(c.Speaker == "")}
}

// Held is how many telling words a candidate holds, at most mostHeld.
func Held(telling []float64, c Candidate) float64 { return min(massOf(telling, c.Holds), mostHeld) }

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
	if massOf(telling, c.Holds) < 2 || c.Cosine != nil && m.Nearness(*c.Cosine) < leastNear {
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

// Nearness is a cosine on the scale of the Turn model, where leastNear is near: linear, and 1 is 1.
func (m *Model) Nearness(cosine float64) float64 {
	near := cmp.Or(m.Near, leastNear)
	return 1 - (1-cosine)*(1-leastNear)/(1-near)
}

// Value orders the candidates of a prompt that asks nothing, better than Rank. It has no unit.
func (t *Turn) Value(terms []float64) (sum float64) {
	for i, name := range TurnNames {
		sum += t.Weights[name] * terms[i]
	}
	return sum
}

// leadOver is the place, from 1, of the value that a Lead is over.
const leadOver = 10

// Lead is by how much a value exceeds the tenth of a prompt's values, or the last. They are sorted,
// best first.
func Lead(value float64, values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return value - values[min(leadOver, len(values))-1]
}

// Worth is the probability, in (0, 1), of being wanted.
func (t *Turn) Worth(value, lead float64) float64 {
	return logistic(t.Bias + t.Scale*value + t.Lead*lead)
}

// WorthOfWords is the probability, in (0, 1), that a candidate without a cosine is wanted. held is
// from Held.
func (t *Turn) WorthOfWords(held float64) float64 { return logistic(t.Words.Bias + t.Words.Held*held) }
