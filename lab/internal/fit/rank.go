package fit

import (
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
	return tally(level, asked)
}

// tally makes a report of questions asked here, by their Collection.
func tally(level string, asked []eval.Asked) eval.Report {
	r := eval.Report{K: Ranks, Level: level}
	var order []string
	by := map[string][]eval.Asked{}
	for _, a := range asked {
		if by[a.Collection] == nil {
			order = append(order, a.Collection)
		}
		by[a.Collection] = append(by[a.Collection], a)
	}
	for _, name := range order {
		r.Add(eval.Result{Name: name}, by[name])
	}
	return r
}
