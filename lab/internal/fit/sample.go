// Package fit fits relevance models (core/relevance) to labelled collections and measures them on
// other questions.
package fit

import (
	"context"
	"fmt"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/lab/internal/sets"
)

// A Sample holds questions, on which everything else computes.
type Sample struct {
	Questions []Question
}

// A Question is a question with its candidates.
type Question struct {
	Set        string // its collections differ in topic only
	Collection string
	ID         string
	Kind       Kind
	Mixed      bool // asked of a memory that sets.Mixed has made

	Query      relevance.Query
	Candidates []relevance.Candidate
	Units      []string       // name that each candidate counts as: a document or turn
	Sessions   []string       // the session each belongs to
	Relevant   map[string]int // units that answer, above 0
	Session    map[string]int // sessions that answer
}

// A Kind is the source of a question.
type Kind int

const (
	Answerable   Kind = iota
	Unanswerable      // in the style of the set, but without an answer
	SmallTalk         // nothing that memory could help with
	Foreign           // asked of another collection's memory
	Sister            // the same, of a collection of the same set, such as another chat
)

// Collect asks the collections' questions, small talk, and others' questions.
func Collect(ctx context.Context, open eval.Opener, collections []sets.Collection, smallTalk []string, progress func(done, total int)) (Sample, error) {
	var all Sample
	for i, c := range collections {
		questions := questionsOf(c, collections, smallTalk)
		queries := make([]sets.Query, len(questions))
		for j, q := range questions {
			queries[j] = q.Query
		}
		found, err := sets.Evidence(ctx, open, c, queries)
		if err != nil {
			return Sample{}, err
		}
		for j, f := range found {
			q := Question{Set: c.Set(), Collection: c.Name, ID: questions[j].ID, Kind: questions[j].kind, Mixed: sets.IsMixed(c),
				Query: f.Query, Candidates: f.Candidates, Units: f.Units, Sessions: f.Sessions}
			if q.Kind == Answerable {
				q.Relevant, q.Session = f.Relevant, f.RelevantSessions
			}
			all.Questions = append(all.Questions, q)
		}
		if progress != nil {
			progress(i+1, len(collections))
		}
	}
	return all, nil
}

const (
	// mostEach limits the questions of a collection: more add little.
	mostEach = 400
	// foreignEach limits the questions of each other data set.
	foreignEach = 20
	// sisterEach limits those of the collection's own set.
	sisterEach = 60
	// smallTalkMixed: every eighth line of small talk.
	smallTalkMixed = 8
)

// An asked question may belong to another collection.
type asked struct {
	sets.Query
	kind Kind
}

func questionsOf(c sets.Collection, others []sets.Collection, smallTalk []string) []asked {
	if sets.IsMixed(c) {
		return mixedQuestions(c, smallTalk)
	}
	var all []asked
	for _, q := range c.Queries {
		switch {
		case q.Unanswerable():
			all = append(all, asked{q, Unanswerable})
		case len(c.Judgments[q.ID]) > 0 && len(all) < mostEach:
			all = append(all, asked{q, Answerable})
		}
	}
	for i, line := range smallTalk {
		all = append(all, asked{sets.Query{ID: fmt.Sprintf("small-talk-%d", i+1), Text: line}, SmallTalk})
	}
	left := map[string]int{}
	for _, other := range others {
		set := other.Set()
		kind, most := Foreign, foreignEach
		if other.Name == c.Name || sets.IsMixed(other) {
			continue
		}
		if set == c.Set() {
			kind, most = Sister, sisterEach
			if sets.SameQuestions(c, other) {
				continue
			}
		}
		// Neighbouring questions ask about the same document.
		for i := 0; i < len(other.Queries) && left[set] < most; i += max(len(other.Queries)/foreignEach, 1) {
			if q := other.Queries[i]; !q.Unanswerable() || kind == Foreign {
				all = append(all, asked{sets.Query{ID: other.Name + "/" + q.ID, Text: q.Text}, kind})
				left[set]++
			}
		}
	}
	return all
}

// mixedQuestions returns the questions of a memory of sets.Mixed.
func mixedQuestions(c sets.Collection, smallTalk []string) []asked {
	kinds := map[string]Kind{sets.MixedOwn: Unanswerable, sets.MixedForeign: Foreign, sets.MixedSister: Sister}
	var all []asked
	for _, q := range c.Queries {
		all = append(all, asked{q, kinds[sets.MixedKind(q)]})
	}
	for i := 0; i < len(smallTalk); i += smallTalkMixed {
		all = append(all, asked{sets.Query{ID: fmt.Sprintf("small-talk-%d", i+1), Text: smallTalk[i]}, SmallTalk})
	}
	return all
}
