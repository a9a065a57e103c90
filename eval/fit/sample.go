// Package fit fits relevance models (core/relevance) to labelled collections, and says what they are worth on
// questions they were not fitted to.
//
// A Sample has, for each question, the candidates that memory found and which of them answer. Everything
// else is arithmetic on it: fitting, cross-validation, leaving evidence out, other ways to rank.
package fit

import (
	"context"
	"fmt"
	"strings"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
)

// A Sample is what memory finds for the questions of a data set.
type Sample struct {
	Questions []Question
}

// A Question is one of a Sample.
type Question struct {
	Set        string // data set: its collections differ in what they are about only
	Collection string
	ID         string
	Kind       Kind
	Mixed      bool // asked of a memory that eval.Mixed has made

	Query      relevance.Query
	Candidates []relevance.Candidate
	Units      []string       // what each candidate counts as: a document, a turn
	Sessions   []string       // the session each belongs to
	Relevant   map[string]int // units that answer, above 0
	Session    map[string]int // sessions that answer
}

// A Kind says what is known of the answer of a question.
type Kind int

const (
	Answerable   Kind = iota
	Unanswerable      // asked of what has no answer, though it looks as if
	SmallTalk         // nothing that memory could help with
	Foreign           // asked of another collection's memory
	Sister            // the same, of a collection of the same set, such as another chat
)

// Collect asks all questions of collections, all lines of small talk, and some questions of other
// data sets. The data set of a collection is the first part of its name.
func Collect(ctx context.Context, open eval.Opener, collections []eval.Collection, smallTalk []string, progress func(done, total int)) (Sample, error) {
	var all Sample
	for i, c := range collections {
		questions := questionsOf(c, collections, smallTalk)
		queries := make([]eval.Query, len(questions))
		for j, q := range questions {
			queries[j] = q.Query
		}
		found, err := eval.Evidence(ctx, open, c, queries)
		if err != nil {
			return Sample{}, err
		}
		for j, f := range found {
			q := Question{Set: SetOf(c.Name), Collection: c.Name, ID: questions[j].ID, Kind: questions[j].kind, Mixed: eval.IsMixed(c),
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

// SetOf returns the data set of a collection.
func SetOf(collection string) string {
	set, _, _ := strings.Cut(collection, "/")
	return set
}

const (
	// mostEach is how many questions of a collection are asked: more say little more.
	mostEach = 400
	// foreignEach is how many questions of each other data set are asked of a collection.
	foreignEach = 20
	// sisterEach is how many of the collection's own set.
	sisterEach = 60
	// smallTalkMixed is of how many lines of small talk one is said to each small memory: there are many of these.
	smallTalkMixed = 8
)

// An asked question is one to a collection, its own or not.
type asked struct {
	eval.Query
	kind Kind
}

func questionsOf(c eval.Collection, others []eval.Collection, smallTalk []string) []asked {
	if eval.IsMixed(c) {
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
		all = append(all, asked{eval.Query{ID: fmt.Sprintf("small-talk-%d", i+1), Text: line}, SmallTalk})
	}
	left := map[string]int{}
	for _, other := range others {
		set := SetOf(other.Name)
		kind, most := Foreign, foreignEach
		if other.Name == c.Name || eval.IsMixed(other) {
			continue
		}
		if set == SetOf(c.Name) {
			kind, most = Sister, sisterEach
			if eval.SameQuestions(c, other) {
				continue
			}
		}
		// Spread over the collection: neighbours ask about the same document.
		for i := 0; i < len(other.Queries) && left[set] < most; i += max(len(other.Queries)/foreignEach, 1) {
			if q := other.Queries[i]; !q.Unanswerable() || kind == Foreign {
				all = append(all, asked{eval.Query{ID: other.Name + "/" + q.ID, Text: q.Text}, kind})
				left[set]++
			}
		}
	}
	return all
}

// mixedQuestions are those of a memory that eval.Mixed has made: there, other collections' questions are among its own.
func mixedQuestions(c eval.Collection, smallTalk []string) []asked {
	kinds := map[string]Kind{eval.MixedOwn: Unanswerable, eval.MixedForeign: Foreign, eval.MixedSister: Sister}
	var all []asked
	for _, q := range c.Queries {
		all = append(all, asked{q, kinds[eval.MixedKind(q)]})
	}
	for i := 0; i < len(smallTalk); i += smallTalkMixed {
		all = append(all, asked{eval.Query{ID: fmt.Sprintf("small-talk-%d", i+1), Text: smallTalk[i]}, SmallTalk})
	}
	return all
}
