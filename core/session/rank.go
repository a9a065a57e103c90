package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/store/keyword"
)

// A question is a query as recall looks for it.
type question struct {
	text    string
	literal literal
	exact   bool // find only what holds the query as written
	terms   []keyword.Asked
	spelled map[string]bool // every spelling of the terms
	vector  []float32       // nil to go by words alone
	scale   relevance.Scale // of cosines, if it had to be measured
}

func newQuestion(r RecallRequest) question {
	q := question{text: strings.TrimSpace(r.Query), exact: r.Exact, spelled: map[string]bool{}}
	written := q.text
	if q.exact {
		written = r.Query // blanks count, too
	}
	q.literal = newLiteral(written)
	return q
}

// add takes the terms as a session spells them.
func (q *question) add(terms []keyword.Asked) {
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

const (
	// neighbourWeight is for words of neighbours, tuned on chats.
	neighbourWeight = 0.3
	phraseBonus     = 1.5 // for a text that holds the whole query
	maxByWords      = 200 // candidates
	maxByMeaning    = 50
	// nearEnough is a share of a turn's threshold, low since a recall is asked for.
	nearEnough = 1.0 / 12
	// nearWithoutWords is it for a query none of whose words is anywhere.
	nearWithoutWords = 1.0 / 2
	// maxTerms keeps the rarest: a pasted text has thousands.
	maxTerms = 64
)

type match struct {
	*unit
	relevance.Ranked
	exact bool // it holds the query as written
}

type scored struct {
	*unit
	bm25   float64
	holds  uint64 // which of the words
	cosine *float64
	exact  bool
}

// scores are how well units match by words.
type scores struct {
	bm25    []float64 // by unit
	holds   []uint64  // by unit, which of words it holds
	words   []relevance.Word
	ceiling float64 // of bm25
}

// rank finds units as written, by words and by meaning, best first.
func (q question) rank(units []*unit, embedder embed.Embedder) []match {
	scores := q.score(units)
	var byLetters, byWords, byMeaning []scored
	for i, u := range units {
		s := scored{u, scores.bm25[i], scores.holds[i], u.cosine(q.vector), q.literal.find(u.full(), u.folded) >= 0}
		switch {
		case s.exact:
			byLetters = append(byLetters, s)
		case q.exact:
		case s.bm25 > 0:
			byWords = append(byWords, s)
		case s.cosine != nil:
			byMeaning = append(byMeaning, s)
		}
	}
	byBM25 := func(s scored) float64 { return s.bm25 }
	all := slices.Concat(best(byLetters, maxByWords, byBM25), best(byWords, maxByWords, byBM25),
		best(byMeaning, maxByMeaning, func(s scored) float64 { return *s.cosine }))
	slices.SortStableFunc(all, func(a, b scored) int { return newerFirst(a.unit, b.unit) })

	model, count := relevance.Keywords(), func(text string) int { return len(text)/4 + 1 }
	if q.vector != nil {
		model, count = relevance.For(embedder.Fingerprint()), embedder.CountTokens
	}
	candidates := make([]relevance.Candidate, len(all))
	byID := map[string]scored{}
	for i, s := range all {
		id := fmt.Sprintf("%06d", i) // the model orders equal ones by ID
		byID[id] = s
		// Each message is its own document, without a role: the models were fitted to people's
		// chats.
		candidates[i] = relevance.Candidate{ID: id, Text: s.text, Before: s.before, Path: id, Line: s.line, Document: s.bm25,
			Tokens: count(s.text), BM25: s.bm25, Cosine: s.cosine, Holds: s.holds}
	}
	asked := relevance.Query{Text: q.text, Ceiling: scores.ceiling, Vectors: q.vector != nil, BestDocument: slices.Max(append(slices.Clone(scores.bm25), 0)),
		Chunks: len(units), Words: scores.words, Language: keyword.LanguageOf(q.text)}
	least := model.Threshold * nearEnough
	if len(byWords) == 0 {
		least = model.Threshold * nearWithoutWords
	}
	var found []match
	for _, r := range model.Rank(model.Rescaled(asked, candidates, q.scale)) {
		if s := byID[r.ID]; s.exact || r.BM25 > 0 || r.Score >= least {
			found = append(found, match{s.unit, r, s.exact})
		}
	}
	return q.ordered(found)
}

func newerFirst(a, b *unit) int {
	return cmp.Or(cmp.Compare(b.modified, a.modified), cmp.Compare(b.line, a.line))
}

// best returns the n best, of equal ones the newer.
func best(all []scored, n int, by func(scored) float64) []scored {
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Or(cmp.Compare(by(b), by(a)), newerFirst(a.unit, b.unit)) })
	return all[:min(n, len(all))]
}

// ordered puts exact matches first, parts of a word later.
func (q question) ordered(found []match) []match {
	if len(q.terms) != 1 || strings.ContainsFunc(q.text, func(r rune) bool { return r == '_' || !inWord(r) }) {
		slices.SortStableFunc(found, func(a, b match) int { return cmp.Compare(b.exactRank(), a.exactRank()) })
		return found
	}
	words := 0 // the end of those with the word
	var parts, others []match
	for _, m := range found {
		if m.exact && m.BM25 == 0 {
			parts = append(parts, m)
			continue
		}
		others = append(others, m)
		if m.BM25 > 0 {
			words = len(others)
		}
	}
	return slices.Concat(others[:words], parts, others[words:])
}

func (m match) exactRank() int {
	if m.exact {
		return 1
	}
	return 0
}

// score also counts neighbours' words, for less.
func (q question) score(units []*unit) (s scores) {
	s.bm25, s.holds = make([]float64, len(units)), make([]uint64, len(units))
	total := 0
	for _, u := range units {
		total += u.length
	}
	average := max(float64(total)/float64(max(len(units), 1)), 1)
	occurrences := make([]int, len(units))
	for at, term := range q.rarest(units) {
		having := 0
		for i, u := range units {
			occurrences[i] = 0
			for _, spelling := range term.Spellings {
				occurrences[i] += u.words[spelling]
			}
			if occurrences[i] > 0 {
				having++
				s.holds[i] |= 1 << at
			}
		}
		s.words = append(s.words, relevance.Word{Text: term.Word, Records: having, Compound: term.Whole})
		most := keyword.MostBM25(having, len(units))
		if having > 0 || !term.Whole {
			s.ceiling += most
		}
		for i, own := range occurrences {
			if tf := float64(own) + neighbourWeight*float64(inNeighbours(units, occurrences, i)); tf > 0 {
				s.bm25[i] += keyword.BM25(most, tf/keyword.LengthNorm(float64(units[i].length)/average))
			}
		}
	}
	phrase := strings.ToLower(q.text)
	for i, u := range units {
		switch {
		case s.holds[i] == 0:
			s.bm25[i] = 0
		case len(s.words) > 1 && strings.Contains(strings.ToLower(u.text), phrase):
			s.bm25[i] *= phraseBonus
		}
	}
	return s
}

func (q question) rarest(units []*unit) []keyword.Asked {
	if len(q.terms) <= maxTerms {
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
	return terms[:min(len(terms), maxTerms)]
}

func inNeighbours(units []*unit, occurrences []int, i int) (n int) {
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(units) && units[i].source == SourceMessages && units[j].file == units[i].file {
			n += occurrences[j]
		}
	}
	return n
}
