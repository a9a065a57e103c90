package relevance

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"sync"
	"unicode"

	"github.com/memcore/memcore/internal/prompt"
)

// A Turn model says how likely a candidate is wanted in a turn of an agent at work. Scores cannot:
// most prompts tell an agent what to do next and ask nothing of memory, however near in meaning
// something in it is. What tells wanted candidates from others is how many of the words that a prompt
// is about they hold, and what kind of prompt it is.
type Turn struct {
	Fitted  string             `json:"fitted"`
	Bias    float64            `json:"bias"`
	Weights map[string]float64 `json:"weights"` // by the names of TurnNames
	Least   float64            `json:"least"`   // of a candidate's Worth to be given, in (0, 1)
}

// TurnNames are the terms of a Worth.
var TurnNames = []string{
	"held",    // telling words of the prompt that the candidate holds, at most 6
	"telling", // telling words of the prompt that memory holds at all, at most 8
	"follows", // 1 if the prompt reads like the next word of a talk that goes on
	"asks",    // 1 if it is a question
	"orders",  // 1 if it tells the agent to do something
	"finding", // 1 if the candidate says what was found, decided or done
	"user",    // 1 if the user says it
}

//go:embed turn.json
var turnFile []byte

// ForTurns returns the Turn model that memcore ships.
var ForTurns = sync.OnceValue(func() *Turn {
	t := &Turn{}
	if err := json.Unmarshal(turnFile, t); err != nil {
		panic(err) // TestTurnModel reads it
	}
	return t
})

const (
	mostHeld    = 6
	mostTelling = 8
	// rareEnough is the least share of the greatest idf of a telling word: one that every tenth chunk
	// holds says little.
	rareEnough = 0.3
	// pairOfCharacters is what a pair of characters counts in a script without spaces, where a word
	// makes several.
	pairOfCharacters = 0.4
)

var finding = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(root cause|the (issue|problem|bug|reason|cause|culprit|fix|trick) (is|was|here)|because|caused by|turns out|you're right|you are right|instead of|decided|won't work|doesn't|does not|already|` +
		`none of|only|must be|should|fixed|found|works now|summary|changes made|key)\b|原因|解决|修复|因为|ため|修正|解決`)
})

// TellingWords returns what each of q.Words counts for a prompt: 1 for one that says what it is about,
// 0 for words of every prompt, names of files, and what every tenth chunk holds.
func TellingWords(p prompt.Prompt, q Query) []float64 {
	counts := make([]float64, len(q.Words))
	greatest := idf(1, q.Chunks)
	for i, w := range q.Words {
		switch {
		case !prompt.IsTelling(w.Text) || p.NamesFile(w.Text):
		case w.Records > 0 && idf(w.Records, q.Chunks) < rareEnough*greatest:
		case unspacedWord(w.Text):
			counts[i] = pairOfCharacters
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

// TurnEvidence returns the terms of a candidate's Worth, in the order of TurnNames. Telling is what
// TellingWords returns.
func TurnEvidence(p prompt.Prompt, q Query, telling []float64, c Candidate) []float64 {
	known := 0.0
	for i, count := range telling {
		if q.Words[i].Records > 0 {
			known += count
		}
	}
	return []float64{
		min(massOf(telling, c.Holds), mostHeld), min(known, mostTelling), yes(p.Follows), yes(p.Asks), yes(p.Orders),
		yes(finding().MatchString(c.Text)), yes(c.Speaker == "user"),
	}
}

// HoldsMost reports whether a candidate holds most of what a prompt is about and is near it in
// meaning: wanted even where a prompt is too short for its Worth to be much.
func HoldsMost(telling []float64, q Query, c Candidate) bool {
	if massOf(telling, c.Holds) < 2 || c.Cosine != nil && *c.Cosine < leastNear {
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
	leastNear = 0.4 // cosine
)

// Worth returns how likely a candidate is wanted, in (0, 1), given its TurnEvidence.
func (t *Turn) Worth(evidence []float64) float64 {
	x := t.Bias
	for i, name := range TurnNames {
		x += t.Weights[name] * evidence[i]
	}
	return 1 / (1 + math.Exp(-x))
}

// OrderForTurn sorts candidates of a prompt that is no plain question by the sum of cosine, half of
// BM25 over the best, and a little for what says much and finds something; what users say counts less.
// On prompts that is better than the order of Rank, whose weights are of questions.
func OrderForTurn(ranked []Ranked) {
	best := 0.0
	for _, r := range ranked {
		best = max(best, r.BM25)
	}
	value := make(map[string]float64, len(ranked))
	for _, r := range ranked {
		v := 0.5*Share(r.BM25, best) - 0.15*yes(r.Speaker == "user") + 0.05*math.Log(float64(max(r.Tokens, 1))) + 0.1*yes(finding().MatchString(r.Text))
		if r.Cosine != nil {
			v += *r.Cosine
		}
		value[r.ID] = v
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(value[b.ID], value[a.ID]) })
}
