// Package relevance makes a score of the indexes' evidence for a chunk: the probability that the
// chunk helps with a question.
//
// A weighted sum of evidence, relative to the other candidates, orders them (Rank). Whether the
// best is worth anything depends on absolute evidence: its nearness in meaning, and its share of
// the question's words. A logistic function of that, and of the distance from the best, gives the
// probability; a polygon calibrates it. Within a query, scores have the order of the sums.
//
// All numbers are in models/*.json, one file an embedder, made by `lab/fit`. Weights of
// evidence are at least 0: more evidence never lowers a score. Evidence that a memory lacks, such
// as speakers, is 0 for all candidates.
package relevance

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Candidate is a chunk found by an index, with its evidence.
type Candidate struct {
	ID      string
	Text    string
	Before  string // the turn before it; conversations only
	Path    string // of its document
	Line    int    // where it begins there
	Speaker string // "user", "assistant", "tool" or a name; conversations only
	Turn    bool   // it is a turn of a conversation
	Tokens  int    // length of Text
	Later   int    // candidates' conversations that went on after its own; 0 outside of conversations

	BM25     float64  // of the chunk
	Document float64  // BM25 of its whole document
	Timely   float64  // how well its time fits that of the question, in [0, 1]; 0 without one
	Cosine   *float64 // nil without a vector

	Holds, Near uint64 // bit i: Query.Words[i] is in the chunk, or in it or a turn beside it
}

// A Query is what the candidates of a question share.
type Query struct {
	Text         string
	Ceiling      float64 // the most that BM25 could be
	BestDocument float64 // best BM25 of a document
	Vectors      bool    // vectors were asked
	Chunks       int     // in the whole index
	Words        []Word  // those that were searched for
	Language     string  // of Text, ISO 639-1; "" if it is English or not known
	Across       bool    // the nearest chunks are all in another language than Text, and memory holds few of its words
	Spread       float64 // Model.Spread; set by Rank and Order
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
	Place int     // of the candidate among those that were ranked, from 0
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

// Describe lists the terms of a sum for people, the largest first.
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

// Rank scores candidates and returns them best first, equal ones by ID. One without a vector gets
// at least the score of its words alone.
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

// scored orders and scores candidates. Scores fall, or stay, along the order.
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

// leftToWords reports whether words alone judge a candidate: it has no vector, or it holds the one
// or two rare words that the question consists of.
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
	bare := 0 < words && words <= maxBareWords && total >= rare*float64(words)
	return func(c Candidate) bool { return c.Cosine == nil || bare && c.Holds&asked == asked }
}

const (
	maxBareWords = 2
	rare         = 5 // weight of a rare word that one chunk holds
)

// byWords raises candidates that words judge to their scores by keywords, and sorts.
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

// adopt converts another model's scores so that both thresholds agree.
func (m *Model) adopt(ranked []Ranked, other *Model) {
	for i, r := range ranked {
		if r.Score < other.Threshold {
			ranked[i].Score = m.Threshold * r.Score / other.Threshold
		} else {
			ranked[i].Score = m.Threshold + (1-m.Threshold)*(r.Score-other.Threshold)/(1-other.Threshold)
		}
	}
}

// Order sorts candidates by their sums, best first, equal ones by ID. It sets no scores.
func (m *Model) Order(q Query, candidates []Candidate) []Ranked {
	q.Spread = m.Spread
	evidence := Evidence(q, candidates)
	handicap := m.handicaps(q, candidates)
	ranked := make([]Ranked, len(candidates))
	for i, c := range candidates {
		r := Ranked{Candidate: c, Place: i, Terms: make([]Term, 0, len(Names))}
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

// FewHeld reports whether memory holds less than a third of the question's words, as it does if
// they are in another language.
func (q Query) FewHeld() bool {
	words, held := 0, 0
	for _, w := range q.Words {
		if w.Compound {
			continue
		}
		if words++; w.Records > 0 {
			held++
		}
	}
	return 3*held < words
}

// serving returns this model, its Across, or the one for keywords if the question has no vectors or
// the embedder does not know its script or language.
func (m *Model) serving(q *Query) *Model {
	if q.Vectors && m.Knows(q.Text) && m.KnowsLanguage(q.Language) {
		if m.Across != nil && q.Across {
			return m.Across
		}
		return m
	}
	q.Vectors = false
	return Keywords()
}

// Calibrated returns the score of a candidate at a distance from the first.
func (m *Model) Calibrated(best Certainty, d Distance) float64 {
	s := m.Score
	x := s.Knows(best) + s.Behind*d.Sum + s.CosineBehind*d.Cosine + s.ShareBehind*d.Share
	return m.observed(1 / (1 + math.Exp(-x)))
}

// observed maps a predicted probability to the observed one, along Calibration.
func (m *Model) observed(predicted float64) float64 {
	points := m.Calibration
	if len(points) == 0 {
		return predicted
	}
	i, _ := slices.BinarySearchFunc(points, predicted, func(p [2]float64, x float64) int { return cmp.Compare(p[0], x) })
	switch i {
	case 0:
		return points[0][1] * Share(predicted, points[0][0])
	case len(points):
		last := points[i-1]
		return last[1] + (1-last[1])*Share(predicted-last[0], 1-last[0])
	}
	a, b := points[i-1], points[i]
	return a[1] + (b[1]-a[1])*(predicted-a[0])/(b[0]-a[0])
}

// Share is part ÷ whole, at most 1, and 0 if the whole is 0.
func Share(part, whole float64) float64 {
	if whole <= 0 {
		return 0
	}
	return min(part/whole, 1)
}
