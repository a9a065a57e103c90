// Package relevance turns what the indexes say of a chunk into one number: how sure memory is that it
// helps with a question.
//
// It goes two steps. A weighted sum of evidence, all of it relative to the other candidates, says which
// chunk is better than which (Rank). Whether even the best one is worth anything is a matter of evidence
// that does not depend on the others: how near it is in meaning, and how much of the question's words it
// holds. A logistic function of that, and of how far behind the best a chunk is, gives its probability;
// an isotonic step function, here a polygon, makes the probability honest. So within a query the order
// of scores is that of the sums.
//
// All numbers are in models/*.json, one file for each embedder, made by `memcore eval fit`. Every weight
// of evidence is at least 0: more evidence never makes a score smaller. What a memory does not have,
// such as speakers, is a term of 0 for all candidates, and changes nothing.
package relevance

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Candidate is a chunk that an index has found, and what the indexes say of it.
type Candidate struct {
	ID      string
	Text    string
	Before  string // the turn before it; conversations only
	Path    string // of its document
	Line    int    // where it begins there
	Speaker string // "user", "assistant", "tool" or a name; conversations only
	Turn    bool   // it is a turn of a conversation
	Tokens  int    // length of Text
	Request string // that an agent answers with Text; agents' logs only

	BM25     float64  // of the chunk
	Document float64  // BM25 of its whole document
	Timely   float64  // how well its time fits the one that the question names, in [0, 1]; 0 if it names none
	Cosine   *float64 // of question and chunk; nil if there is no vector to compare with

	Holds, Near uint64 // which of Query.Words it holds itself, and it or the turns around it: bit i stands for Words[i]
}

// A Query is what all candidates of a question have in common.
type Query struct {
	Text         string
	Ceiling      float64 // the most that BM25 could be
	BestDocument float64 // best BM25 of a document
	Vectors      bool    // vectors were asked
	Chunks       int     // in the whole index
	Words        []Word  // those that were searched for
	Language     string  // of Text, ISO 639-1; "" if it is English or not known
	Spread       float64 // Model.Spread; what Rank and Order set
}

// A Word is one that a question asks for.
type Word struct {
	Text     string // as the question has it
	Records  int    // how many chunks of the memory hold it
	Compound bool   // its parts are words as well
}

// A Ranked candidate is one with its score.
type Ranked struct {
	Candidate
	Terms []Term  // of Sum
	Sum   float64 // ranks within the query
	Score float64 // probability that it helps, in [0, 1]
}

// A Term is one piece of evidence.
type Term struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	Weight float64 `json:"weight"`
}

// Describe says what a sum is made of, for people: each term's part of it, the largest first, those that hardly count left out.
func Describe(terms []Term) string {
	terms = slices.Clone(terms)
	slices.SortStableFunc(terms, func(a, b Term) int { return cmp.Compare(math.Abs(b.Value*b.Weight), math.Abs(a.Value*a.Weight)) })
	var parts []string
	for _, t := range terms {
		if part := t.Value * t.Weight; math.Abs(part) >= 0.05 {
			parts = append(parts, fmt.Sprintf("%s %+.1f", t.Name, part))
		}
	}
	return strings.Join(parts, ", ")
}

// Rank scores all candidates of a question and returns them best first, equal ones by ID. Where the question has a vector, a candidate that
// has none yet gets at least the score that its words alone would get.
func (m *Model) Rank(q Query, candidates []Candidate) []Ranked {
	serving := m.serving(&q)
	ranked := serving.scored(q, candidates)
	if serving != m {
		m.adopt(ranked, serving)
	}
	if left := leftToWords(q); q.Vectors && slices.ContainsFunc(candidates, left) {
		m.byWords(q, candidates, ranked, left)
	}
	return ranked
}

// scored orders and scores candidates by this very model. One that is better than those before it in what its score is made of does not overtake them.
func (m *Model) scored(q Query, candidates []Candidate) []Ranked {
	ranked := m.Order(q, candidates)
	best := CertaintyOf(q, ranked)
	for i, d := range Distances(q, ranked) {
		ranked[i].Score = m.Calibrated(best, d)
		if i > 0 {
			ranked[i].Score = min(ranked[i].Score, ranked[i-1].Score)
		}
	}
	return ranked
}

// leftToWords reports whether words judge a candidate: it has no vector yet, or the question is a rare word or two, of which a vector says little, and
// it holds them.
func leftToWords(q Query) func(Candidate) bool {
	weights, total := weigh(q)
	var asked uint64
	words := 0
	for i, weight := range weights {
		if weight > 0 && i < 64 {
			asked |= 1 << i
			words++
		}
	}
	bare := 0 < words && words <= fewWords && total >= rare*float64(words)
	return func(c Candidate) bool { return c.Cosine == nil || bare && c.Holds&asked == asked }
}

const (
	fewWords = 2
	rare     = 5 // weight of a word that one chunk holds and that is none of the commonest
)

// byWords gives the candidates that are left to words at least the scores of the model for keywords, and sorts all again.
func (m *Model) byWords(q Query, candidates []Candidate, ranked []Ranked, left func(Candidate) bool) {
	q.Vectors = false
	words := Keywords().scored(q, candidates)
	m.adopt(words, Keywords())
	scores := make(map[string]float64, len(words))
	for _, r := range words {
		scores[r.ID] = r.Score
	}
	for i, r := range ranked {
		if left(r.Candidate) {
			ranked[i].Score = max(r.Score, scores[r.ID])
		}
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int { return cmp.Compare(b.Score, a.Score) })
}

// adopt brings scores of another model to the scale of this one, so that what is at its threshold is at this one's.
func (m *Model) adopt(ranked []Ranked, other *Model) {
	for i, r := range ranked {
		if r.Score < other.Threshold {
			ranked[i].Score = m.Threshold * r.Score / other.Threshold
		} else {
			ranked[i].Score = m.Threshold + (1-m.Threshold)*(r.Score-other.Threshold)/(1-other.Threshold)
		}
	}
}

// Order sorts candidates by the sums of this very model, best first, equal ones by ID, and leaves their scores 0.
func (m *Model) Order(q Query, candidates []Candidate) []Ranked {
	q.Spread = m.Spread
	evidence := Evidence(q, candidates)
	handicap := m.handicaps(q, candidates)
	ranked := make([]Ranked, len(candidates))
	for i, c := range candidates {
		r := Ranked{Candidate: c, Terms: make([]Term, 0, len(Names))}
		kind := KindOf(c)
		weights := m.weightsOf(kind)
		for n, name := range Names {
			weight := weights[name]
			r.Sum += weight * evidence[i][n]
			if evidence[i][n] != 0 && weight != 0 {
				r.Terms = append(r.Terms, Term{name, evidence[i][n], weight})
			}
		}
		if by := handicap[kind]; by != 0 {
			r.Sum -= by
			r.Terms = append(r.Terms, Term{kindTerm, -1, by})
		}
		ranked[i] = r
	}
	slices.SortFunc(ranked, func(a, b Ranked) int { return cmp.Or(cmp.Compare(b.Sum, a.Sum), cmp.Compare(a.ID, b.ID)) })
	return ranked
}

// serving returns the model that fits a question: this one, or the one for keywords alone if there are no
// vectors, or none that mean something: the question is in a script the embedder does not know.
func (m *Model) serving(q *Query) *Model {
	if q.Vectors && m.Knows(q.Text) && m.KnowsLanguage(q.Language) {
		return m
	}
	q.Vectors = false
	return Keywords()
}

// Calibrated returns the score of a candidate at a distance from the first one.
func (m *Model) Calibrated(best Certainty, d Distance) float64 {
	s := m.Score
	x := s.Knows(best) + s.Behind*d.Sum + s.CosineBehind*d.Cosine + s.ShareBehind*d.Share
	return m.honest(1 / (1 + math.Exp(-x)))
}

// honest maps what the logistic function says to what is found: by the straight lines between the points
// of Calibration.
func (m *Model) honest(said float64) float64 {
	points := m.Calibration
	if len(points) == 0 {
		return said
	}
	i, _ := slices.BinarySearchFunc(points, said, func(p [2]float64, x float64) int { return cmp.Compare(p[0], x) })
	switch i {
	case 0:
		return points[0][1] * Share(said, points[0][0])
	case len(points):
		last := points[i-1]
		return last[1] + (1-last[1])*Share(said-last[0], 1-last[0])
	}
	a, b := points[i-1], points[i]
	return a[1] + (b[1]-a[1])*(said-a[0])/(b[0]-a[0])
}

// Share is part ÷ whole, at most 1; 0 if there is no whole.
func Share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(part/whole, 1)
}
