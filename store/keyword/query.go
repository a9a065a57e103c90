package keyword

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"
)

// maxQuery is how many bytes of a query count.
const maxQuery = 64 << 10

// A term is one word of a query.
type term struct {
	// spellings are the word's stems in all possible languages.
	spellings [][]byte
	// whole marks a compound. If no record holds it, only its parts count.
	whole bool
	word  string // as the query has it
}

// parse returns a query's distinct terms in order, without stop words unless all are. spoken are
// the records' languages.
func parse(query string, spoken []*language) []term {
	return termsOf(query, spoken, withoutStopWords)
}

// termsOf is parse of the tokens that wanted returns.
func termsOf(query string, spoken []*language, wanted func(analysis.TokenStream, []*language) analysis.TokenStream) []term {
	tokens := newQueryAnalyzer().Analyze([]byte(query[:min(len(query), maxQuery)]))
	asked := languagesOf(tokens, 1)
	languages := []*language{english}
	for _, l := range slices.Concat(asked, spoken) {
		if !slices.Contains(languages, l) {
			languages = append(languages, l)
		}
	}
	var terms []term
	at := map[string]int{}
	for _, token := range wanted(tokens, asked) {
		spellings := spell(token.Term, languages)
		key := string(spellings[0])
		i, known := at[key]
		if !known {
			at[key] = len(terms)
			terms = append(terms, term{spellings: spellings, whole: token.KeyWord, word: wordAt(query, token)})
		} else if !token.KeyWord {
			terms[i].whole = false
		}
	}
	return terms
}

// wordAt returns a token as the query writes it, or folded if that moved it.
func wordAt(query string, token *analysis.Token) string {
	if 0 <= token.Start && token.Start < token.End && token.End <= len(query) {
		if word := query[token.Start:token.End]; strings.EqualFold(word, string(token.Term)) {
			return word
		}
	}
	return string(token.Term)
}

// spell returns a word's distinct stems, in order of languages.
func spell(word []byte, languages []*language) [][]byte {
	var all [][]byte
	for _, l := range languages {
		stem := l.stemOf(word)
		if !slices.ContainsFunc(all, func(other []byte) bool { return bytes.Equal(other, stem) }) {
			all = append(all, stem)
		}
	}
	return all
}

// A search is a query on a source. It is not safe for concurrent use.
type search struct {
	postings
	layout   *layout
	averages [fieldCount]float64 // length of a field
}

// rarest returns the n terms with the fewest records. In a long message they carry the subject.
func (x *search) rarest(terms []term, n int) ([]term, error) {
	if len(terms) <= n {
		return terms, nil
	}
	type counted struct {
		term
		records uint64
	}
	all := make([]counted, len(terms))
	for i, t := range terms {
		records, err := x.records(t)
		if err != nil {
			return nil, err
		}
		all[i] = counted{t, records - 1} // 0 becomes the largest number
	}
	slices.SortStableFunc(all, func(a, b counted) int { return cmp.Compare(a.records, b.records) })
	rarest := make([]term, n)
	for i := range rarest {
		rarest[i] = all[i].term
	}
	return rarest, nil
}

// records estimates how many hold a term: in their text, else in their title.
func (x *search) records(t term) (n uint64, err error) {
	for _, field := range []int{fieldText, fieldTitle} {
		for _, spelling := range t.spellings {
			some, err := x.count(field, spelling)
			if err != nil {
				return 0, err
			}
			n += some
		}
		if n > 0 {
			break
		}
	}
	return n, nil
}
