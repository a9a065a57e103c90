package fit

import (
	"fmt"
	"slices"
	"strings"

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

// ordered ranks by the weights of a model alone.
func ordered(m *relevance.Model) Ranker {
	return func(q Question) []int {
		var order []int
		for _, r := range m.Order(q.Query, q.Candidates) {
			order = append(order, r.Place)
		}
		return order
	}
}

// sources are the data sets of the questions to whole collections.
func (s Sample) sources() []string {
	var all []string
	for _, q := range whole(s.Questions) {
		if !slices.Contains(all, q.Set) {
			all = append(all, q.Set)
		}
	}
	slices.Sort(all)
	return all
}

// without leaves out what a source has a part in: its questions, also to others, and small
// memories with its texts.
func (s Sample) without(source string) Sample {
	part := source + "/"
	return Sample{slices.DeleteFunc(slices.Clone(s.Questions), func(q Question) bool {
		return q.Set == source || strings.HasPrefix(q.ID, part) || strings.Contains(q.ID, ":"+part) ||
			q.Mixed && slices.ContainsFunc(q.Units, func(unit string) bool { return strings.HasPrefix(unit, part) })
	})}
}

// LeftOut fits a model for each source, without that source.
func (s Sample) LeftOut(o Options, fit func(Sample, Options) (*relevance.Model, error)) (map[string]*relevance.Model, error) {
	sources := s.sources()
	if len(sources) < 2 {
		return nil, fmt.Errorf("leave a source out of %d, want at least 2", len(sources))
	}
	by := map[string]*relevance.Model{}
	for _, source := range sources {
		var err error
		if by[source], err = fit(s.without(source), o); err != nil {
			return nil, fmt.Errorf("without %s: %w", source, err)
		}
	}
	return by, nil
}

// Choose returns the options with the strength that orders best what was left out: by the mean of
// nDCG@10, in which sources count alike.
func (s Sample) Choose(o Options) (chosen Options, table string, err error) {
	s = Sample{whole(s.served(o))}
	best := -1.0
	for _, o.Toward = range Strengths {
		models, err := s.LeftOut(o, func(s Sample, o Options) (*relevance.Model, error) { return Order(s.Questions, o) })
		if err != nil {
			return o, table, err
		}
		sum := 0.0
		scores := s.Scores(func(q Question) []int { return ordered(models[q.Set])(q) }, sets.LevelDocument).Collections
		for _, c := range scores {
			sum += c.Scores["ndcg@10"]
		}
		mean := sum / float64(len(scores))
		table += fmt.Sprintf("toward %g: nDCG@10 of what was left out %.4f\n", o.Toward, mean)
		if mean > best {
			best, chosen = mean, o
		}
	}
	return chosen, table, nil
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
