package keyword

import (
	"cmp"
	"slices"

	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// longestQuery is how many bytes of a query are looked at.
const longestQuery = 64 << 10

// A term is one word of a query.
type term struct {
	text []byte
	// whole is set if the term stands for a compound whose parts are terms as well. It is a further
	// chance to match, not a further demand: if no record holds it, the parts say all there is.
	whole bool
}

// parse returns the terms of a query, each once, in the order of the query.
func parse(query string) []term {
	var terms []term
	at := map[string]int{}
	for _, token := range newQueryAnalyzer().Analyze([]byte(query[:min(len(query), longestQuery)])) {
		i, known := at[string(token.Term)]
		if !known {
			at[string(token.Term)] = len(terms)
			terms = append(terms, term{text: token.Term, whole: token.KeyWord})
		} else if !token.KeyWord {
			terms[i].whole = false
		}
	}
	return terms
}

// A search is one query at work on a snapshot. It is for one goroutine.
type search struct {
	*snapshot
	options      Options
	dictionaries [fieldCount][]segment.TermDictionary // by field and part
	averages     [fieldCount]float64                  // length of a field
	postings     segment.PostingsList                 // reused
	hits         segment.PostingsIterator             // reused
}

func newSearch(s *snapshot, options Options) (*search, error) {
	x := &search{snapshot: s, options: options}
	for i, name := range fieldNames {
		for _, p := range s.parts {
			dictionary, err := p.Dictionary(name)
			if err != nil {
				return nil, damaged(err)
			}
			x.dictionaries[i] = append(x.dictionaries[i], dictionary)
		}
		x.averages[i] = float64(s.manifest.Lengths[i]) / float64(max(s.live, 1))
	}
	return x, nil
}

// rarest returns at most n of terms: those held by the fewest records, but those held by none last,
// since they find nothing. A whole message of an agent is a query too; its rare words are what it
// is about.
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
		all[i] = counted{t, records - 1} // none becomes the largest number
	}
	slices.SortStableFunc(all, func(a, b counted) int { return cmp.Compare(a.records, b.records) })
	rarest := make([]term, n)
	for i := range rarest {
		rarest[i] = all[i].term
	}
	return rarest, nil
}

// records is about how many records hold a term: those that do in their text or else their title.
func (x *search) records(t term) (n uint64, err error) {
	for _, field := range []int{fieldText, fieldTitle} {
		for at := range x.parts {
			if err := x.open(field, at, t); err != nil {
				return 0, err
			}
			n += x.postings.Count()
		}
		if n > 0 {
			break
		}
	}
	return n, nil
}

// open makes x.postings those of a term in a field of a part.
func (x *search) open(field, at int, t term) (err error) {
	x.postings, err = x.dictionaries[field][at].PostingsList(t.text, x.parts[at].deleted, x.postings)
	if err != nil {
		return damaged(err)
	}
	return nil
}
