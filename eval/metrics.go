package eval

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/internal/text/excerpt"
)

// An Asked is the result of one query.
type Asked struct {
	Collection string `json:"collection"`
	ID         string `json:"id"`
	Text       string `json:"text"`
	Answerable bool   `json:"answerable"`
	// Relevant maps the documents or sessions that answer to their grades.
	Relevant map[string]int `json:"relevant,omitempty"`
	// Unwanted are hits that must not be given.
	Unwanted []string `json:"unwanted,omitempty"`
	// Found are the hits of a search, best first.
	Found []string `json:"found"`
	Top   []Top    `json:"top,omitempty"`
	// Scores of an answerable query, from 0 to 1. Those of Found, which goes deeper than a turn:
	//
	//	recall@k     share of the relevant that are among the first k found
	//	any@k        1 if any of them is
	//	all@k        1 if all of them are
	//	precision@k  share of the first k that are relevant
	//	ndcg@k       discounted cumulative gain, with the relevance as gain, by the best possible
	//	mrr          1 / rank of the first relevant one, 0 without one
	//
	// Those of the turn, if Candidates are known:
	//
	//	recall@candidates  share of the relevant among Candidates
	//	recall@turn        share of the relevant among Injected
	Scores map[string]float64 `json:"scores,omitempty"`
	// Injected are the documents or sessions that a turn gets.
	Injected []string `json:"injected,omitempty"`
	Tokens   int      `json:"tokens,omitempty"`
	// Candidates are those of a turn, given ones first; nil if unknown.
	Candidates []string      `json:"candidates,omitempty"`
	Took       time.Duration `json:"took"` // by RetrieveRelevant
}

// A Top explains one of the first hits.
type Top struct {
	Name     string           `json:"name"`             // as it counts
	Score    float64          `json:"score"`            // calibrated relevance
	Cosine   *float64         `json:"cosine,omitempty"` // of question and chunk; nil without vectors
	Keywords float64          `json:"keywords"`         // BM25 by the best for this question
	Terms    []relevance.Term `json:"terms,omitempty"`  // of its rank
	Text     string           `json:"text"`             // its beginning
}

const (
	topHits = 6
	maxTop  = 200 // bytes of Top.Text, about
)

func topOf(hit core.MemoryHit, names []string) Top {
	top := Top{Name: strings.Join(names, ", "), Score: hit.Score, Text: excerpt.Of(strings.Join(strings.Fields(hit.Text), " "), maxTop)}
	if e := hit.Explain; e != nil {
		top.Cosine, top.Keywords, top.Terms = e.Cosine, e.BM25Normalised, e.Terms
	}
	return top
}

// measure returns the Scores of a.
func (a Asked) measure(ks []int) map[string]float64 {
	scores := map[string]float64{"mrr": a.reciprocalRank()}
	for _, k := range ks {
		found := 0.0
		for _, unit := range a.Found[:min(k, len(a.Found))] {
			if a.Relevant[unit] > 0 {
				found++
			}
		}
		at := func(name string) string { return fmt.Sprintf("%s@%d", name, k) }
		scores[at("recall")] = found / float64(len(a.Relevant))
		scores[at("any")] = min(found, 1)
		scores[at("all")] = one(int(found) == len(a.Relevant))
		scores[at("precision")] = found / float64(k)
		scores[at("ndcg")] = a.ndcg(k)
	}
	if a.Candidates != nil {
		scores[recallCandidates], scores[recallTurn] = a.share(a.Candidates), a.share(a.Injected)
	}
	return scores
}

// Names of the scores of a turn.
const (
	recallCandidates = "recall@candidates"
	recallTurn       = "recall@turn"
)

// share returns the share of the relevant in units.
func (a Asked) share(units []string) float64 {
	found := 0.0
	for _, unit := range units {
		found += one(a.Relevant[unit] > 0)
	}
	return found / float64(len(a.Relevant))
}

func (a Asked) reciprocalRank() float64 {
	for i, unit := range a.Found {
		if a.Relevant[unit] > 0 {
			return 1 / float64(i+1)
		}
	}
	return 0
}

func (a Asked) ndcg(k int) float64 {
	var gain, ideal float64
	for i, unit := range a.Found[:min(k, len(a.Found))] {
		gain += float64(a.Relevant[unit]) / math.Log2(float64(i+2))
	}
	var all []int
	for _, relevance := range a.Relevant {
		all = append(all, relevance)
	}
	slices.Sort(all)
	slices.Reverse(all)
	for i, relevance := range all[:min(k, len(all))] {
		ideal += float64(relevance) / math.Log2(float64(i+2))
	}
	return gain / ideal
}

// means averages each score.
func means(values []map[string]float64) map[string]float64 {
	sums := map[string]float64{}
	for _, scores := range values {
		for key, v := range scores {
			sums[key] += v
		}
	}
	for key := range sums {
		sums[key] /= float64(len(values))
	}
	return sums
}

// An Injection measures what turns get at the default threshold.
type Injection struct {
	// Precision is the relevant share of hits for answerable queries, Recall the mean share of
	// relevant documents, F1 their harmonic mean.
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`
	// Empty is the share of answerable queries without hits, Silence of the others.
	Empty   float64 `json:"empty"`
	Silence float64 `json:"silence"`
	// Tokens is the median.
	Tokens int `json:"tokens"`
}

func injection(all []Asked) Injection {
	var in Injection
	var given, right, answerable, others float64
	var tokens []int
	for _, a := range all {
		tokens = append(tokens, a.Tokens)
		if !a.Answerable {
			others++
			in.Silence += one(len(a.Injected) == 0)
			continue
		}
		answerable++
		in.Empty += one(len(a.Injected) == 0)
		hits := 0.0
		for _, unit := range a.Injected {
			hits += one(a.Relevant[unit] > 0)
		}
		given, right = given+float64(len(a.Injected)), right+hits
		in.Recall += hits / float64(len(a.Relevant))
	}
	in.Precision = right / max(given, 1)
	in.Recall /= max(answerable, 1)
	in.Empty /= max(answerable, 1)
	in.Silence /= max(others, 1)
	if sum := in.Precision + in.Recall; sum > 0 {
		in.F1 = 2 * in.Precision * in.Recall / sum
	}
	if slices.Sort(tokens); len(tokens) > 0 {
		in.Tokens = tokens[len(tokens)/2]
	}
	return in
}

// String returns one line.
func (in Injection) String() string {
	return fmt.Sprintf("injected: precision %.3f, recall %.3f, F1 %.3f; nothing for %.1f %% of questions with an answer, for %.1f %% of those without; median %d tokens",
		in.Precision, in.Recall, in.F1, 100*in.Empty, 100*in.Silence, in.Tokens)
}
