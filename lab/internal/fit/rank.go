package fit

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/lab/internal/sets"
)

// A Ranker returns the indexes of a question's candidates, best first.
type Ranker func(q Question) []int

// Ranks are those of the scores.
var Ranks = []int{1, 5, 10, 20, 50}

// By ranks by a score for each candidate.
func By(score func(q Question) []float64) Ranker {
	return func(q Question) []int {
		scores := score(q)
		order := make([]int, len(scores))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(q.Candidates[a].ID, q.Candidates[b].ID))
		})
		return order
	}
}

// Keywords ranks by BM25 alone.
var Keywords = By(func(q Question) []float64 {
	return each(q, func(c relevance.Candidate) float64 { return c.BM25 })
})

// Vectors ranks by cosine alone.
var Vectors = By(func(q Question) []float64 { return each(q, cosineOf) })

func cosineOf(c relevance.Candidate) float64 {
	if c.Cosine == nil {
		return -1
	}
	return *c.Cosine
}

// Fused ranks by reciprocal rank fusion with constant 60 (Cormack, Clarke and Büttcher, SIGIR
// 2009).
var Fused = By(func(q Question) []float64 {
	sums := make([]float64, len(q.Candidates))
	for rank, i := range Vectors(q) {
		sums[i] += 1 / float64(60+rank+1)
	}
	for rank, i := range Keywords(q) {
		if q.Candidates[i].BM25 > 0 {
			sums[i] += 1 / float64(60+rank+1)
		}
	}
	return sums
})

// Summed ranks by cosine + 0.5 relative BM25.
var Summed = By(func(q Question) []float64 {
	best := slices.Max(append(each(q, func(c relevance.Candidate) float64 { return c.BM25 }), 1e-9))
	return each(q, func(c relevance.Candidate) float64 { return cosineOf(c) + 0.5*c.BM25/best })
})

func each(q Question, score func(relevance.Candidate) float64) []float64 {
	scores := make([]float64, len(q.Candidates))
	for i, c := range q.Candidates {
		scores[i] = score(c)
	}
	return scores
}

// modelled ranks by a model.
func modelled(m *relevance.Model) Ranker {
	return func(q Question) []int {
		at := map[string]int{}
		for i, c := range q.Candidates {
			at[c.ID] = i
		}
		var order []int
		for _, r := range m.Rank(q.Query, q.Candidates) {
			order = append(order, at[r.ID])
		}
		return order
	}
}

// Folds is the number of folds of a cross-validation.
const Folds = 6

// folds returns the fold of each question. Sets with enough collections are split by collection.
func (s Sample) folds() []int {
	collections := map[string][]string{}
	for _, q := range s.Questions {
		if !slices.Contains(collections[q.Set], q.Collection) {
			collections[q.Set] = append(collections[q.Set], q.Collection)
		}
	}
	folds := make([]int, len(s.Questions))
	for i, q := range s.Questions {
		if all := collections[q.Set]; len(all) >= Folds {
			folds[i] = slices.Index(all, q.Collection) % Folds
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(q.ID))
		folds[i] = int(h.Sum32() % Folds)
	}
	return folds
}

// CrossValidated ranks each question by weights fitted without its fold.
func (s Sample) CrossValidated(o Options) (Ranker, error) {
	folds := s.folds()
	var models [Folds]*relevance.Model
	for k := range models {
		var train []Question
		for i, q := range s.Questions {
			if folds[i] != k {
				train = append(train, q)
			}
		}
		var err error
		if models[k], err = Order(Sample{train}.served(o), o); err != nil {
			return nil, err
		}
	}
	fold := map[string]int{}
	for i, q := range s.Questions {
		fold[q.Collection+"\n"+q.ID] = folds[i]
	}
	return func(q Question) []int { return modelled(models[fold[q.Collection+"\n"+q.ID]])(q) }, nil
}

// Scores measures a ranker on the answerable questions of each data set.
func (s Sample) Scores(rank Ranker, level string) eval.Report {
	var asked []eval.Asked
	for _, q := range s.Questions {
		if q.Kind != Answerable {
			continue
		}
		units, relevant := q.Units, q.Relevant
		if level == sets.LevelSession {
			units, relevant = q.Sessions, q.Session
		}
		a := eval.Asked{Collection: q.Set, ID: fmt.Sprintf("%s/%s", q.Collection, q.ID), Text: q.Query.Text, Answerable: true, Relevant: relevant}
		for _, i := range rank(q) {
			if !slices.Contains(a.Found, units[i]) {
				a.Found = append(a.Found, units[i])
			}
		}
		asked = append(asked, a)
	}
	return eval.Tally(Ranks, level, asked)
}
