package notes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store/keyword"
)

// A question is a query as it is looked for.
type question struct {
	text    string
	terms   []keyword.Asked
	spelled map[string]bool // all spellings
	vector  []float32       // nil if it is looked for by words alone
	scale   relevance.Scale // of cosines, where it had to be measured
}

// add takes over the terms of the question as a session spells them.
func (q *question) add(terms []keyword.Asked) {
	if q.spelled == nil {
		q.spelled = map[string]bool{}
	}
	for _, term := range terms {
		i := slices.IndexFunc(q.terms, func(known keyword.Asked) bool { return known.Spellings[0] == term.Spellings[0] })
		if i < 0 {
			i, q.terms = len(q.terms), append(q.terms, keyword.Asked{Word: term.Word, Whole: term.Whole})
		}
		for _, spelling := range term.Spellings {
			q.spelled[spelling] = true
			if !slices.Contains(q.terms[i].Spellings, spelling) {
				q.terms[i].Spellings = append(q.terms[i].Spellings, spelling)
			}
		}
	}
}

// Constants of BM25 (Robertson and Zaragoza 2009), what a word counts in the messages before and after, what a whole query in the text is worth, and how
// many candidates by words and by meaning are looked at. Other values of aroundWeight found less on chats with known answers.
const (
	saturation   = 1.2
	lengthWeight = 0.75
	aroundWeight = 0.3
	phraseBonus  = 1.5
	mostByWords  = 200
	// nearEnough is the share of the threshold of a turn from which on a meaning without a word in common is shown: a recall was asked for, a turn was not.
	nearEnough = 1.0 / 12
	mostNear   = 50
)

// A match is a unit that was found.
type match struct {
	*unit
	relevance.Ranked
}

// a scored unit is one with what words and meaning say of it.
type scoredUnit struct {
	*unit
	bm25   float64
	holds  uint64
	cosine *float64
}

// scores are how well units match a question by its words.
type scores struct {
	bm25    []float64 // by unit
	holds   []uint64  // by unit, which of words it holds
	words   []relevance.Word
	ceiling float64 // of BM25
}

// rank returns the units that share a word with the question or are near enough in meaning, best first, of equal ones the newer.
func (q question) rank(units []*unit, embedder embed.Embedder) []match {
	scores := q.score(units)
	var byWords, byMeaning []scoredUnit
	for i, u := range units {
		s := scoredUnit{unit: u, bm25: scores.bm25[i], holds: scores.holds[i], cosine: u.cosine(q.vector)}
		if s.bm25 > 0 {
			byWords = append(byWords, s)
		} else if s.cosine != nil {
			byMeaning = append(byMeaning, s)
		}
	}
	byWords = most(byWords, mostByWords, func(s scoredUnit) float64 { return s.bm25 })
	byMeaning = most(byMeaning, mostNear, func(s scoredUnit) float64 { return *s.cosine })
	model, count := relevance.Keywords(), func(text string) int { return len(text)/4 + 1 }
	if q.vector != nil {
		model, count = relevance.For(embedder.Fingerprint()), embedder.CountTokens
	}
	candidates := make([]relevance.Candidate, 0, len(byWords)+len(byMeaning))
	places := map[string]scoredUnit{}
	all := slices.Concat(byWords, byMeaning)
	slices.SortStableFunc(all, func(a, b scoredUnit) int { return cmp.Or(cmp.Compare(b.newer, a.newer), cmp.Compare(b.line, a.line)) })
	for i, s := range all {
		id := fmt.Sprintf("%06d", i) // equal ones come by their ID
		places[id] = s
		// Each counts as a document of its own, and not as somebody's turn: whether the user or the assistant has said it says little about a task, other than
		// about people's chats, which the models were fitted to.
		candidates = append(candidates, relevance.Candidate{ID: id, Text: s.text, Before: s.before, Path: id, Line: s.line, Document: s.bm25, Tokens: count(s.text), BM25: s.bm25, Cosine: s.cosine, Holds: s.holds})
	}
	asked := relevance.Query{Text: q.text, Ceiling: scores.ceiling, Vectors: q.vector != nil, BestDocument: slices.Max(append(slices.Clone(scores.bm25), 0)),
		Chunks: len(units), Words: scores.words, Language: keyword.LanguageOf(q.text)}
	var found []match
	for _, r := range model.Rank(model.Rescaled(asked, candidates, q.scale)) {
		if r.BM25 > 0 || r.Score >= model.Threshold*nearEnough {
			found = append(found, match{places[r.ID].unit, r})
		}
	}
	return found
}

// most returns the n best, of equal ones the newer.
func most(all []scoredUnit, n int, by func(scoredUnit) float64) []scoredUnit {
	slices.SortStableFunc(all, func(a, b scoredUnit) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(b.newer, a.newer), cmp.Compare(b.line, a.line))
	})
	return all[:min(n, len(all))]
}

// score says how well each unit matches by its words.
func (q question) score(units []*unit) (s scores) {
	s.bm25, s.holds = make([]float64, len(units)), make([]uint64, len(units))
	total := 0
	for _, u := range units {
		total += u.length
	}
	average := max(float64(total)/float64(max(len(units), 1)), 1)
	q.terms = q.rarest(units)
	occurrences, matches := make([]int, len(units)), make([]bool, len(units))
	for at, term := range q.terms {
		having := 0
		for i, u := range units {
			occurrences[i] = 0
			for _, spelling := range term.Spellings {
				occurrences[i] += u.words[spelling]
			}
			if occurrences[i] > 0 {
				having++
				matches[i] = true
				s.holds[i] |= 1 << at
			}
		}
		s.words = append(s.words, relevance.Word{Text: term.Word, Records: having, Compound: term.Whole})
		n, of := float64(max(having, 1)), float64(max(len(units), 1))
		best := math.Log(1+(of-n+0.5)/(n+0.5)) * (saturation + 1)
		if having > 0 || !term.Whole {
			s.ceiling += best
		}
		for i, own := range occurrences {
			if tf := float64(own) + aroundWeight*beside(units, occurrences, i); tf > 0 {
				s.bm25[i] += best * tf / (tf + saturation*(1-lengthWeight+lengthWeight*float64(units[i].length)/average))
			}
		}
	}
	for i, u := range units {
		if !slices.ContainsFunc(q.terms, func(t keyword.Asked) bool {
			return slices.ContainsFunc(t.Spellings, func(x string) bool { return u.words[x] > 0 })
		}) {
			s.bm25[i] = 0
		}
	}
	if phrase := strings.ToLower(strings.TrimSpace(q.text)); len(q.terms) > 1 {
		for i, u := range units {
			if s.bm25[i] > 0 && strings.Contains(strings.ToLower(u.text), phrase) {
				s.bm25[i] *= phraseBonus
			}
		}
	}
	return s
}

// mostTerms is how many terms of a question count, the rarest ones: a pasted text has thousands, of which the common ones say nothing.
const mostTerms = 64

func (q question) rarest(units []*unit) []keyword.Asked {
	if len(q.terms) <= mostTerms {
		return q.terms
	}
	having := map[string]int{}
	for _, u := range units {
		for spelling := range q.spelled {
			if u.words[spelling] > 0 {
				having[spelling]++
			}
		}
	}
	terms := slices.DeleteFunc(slices.Clone(q.terms), func(t keyword.Asked) bool { return having[t.Spellings[0]] == 0 })
	slices.SortStableFunc(terms, func(a, b keyword.Asked) int { return cmp.Compare(having[a.Spellings[0]], having[b.Spellings[0]]) })
	return terms[:min(len(terms), mostTerms)]
}

// beside is how often a term occurs in the messages before and after one.
func beside(units []*unit, occurrences []int, i int) float64 {
	n := 0
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(units) && units[i].source == SourceMessages && units[j].file == units[i].file {
			n += occurrences[j]
		}
	}
	return float64(n)
}
