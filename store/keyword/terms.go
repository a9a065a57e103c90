package keyword

import "github.com/blevesearch/bleve/v2/analysis"

// A Terms makes terms as an Index does. It caches stems and is not safe for concurrent use.
type Terms struct {
	analyzer *textAnalyzer
	known    map[string]string // one string a term, however many texts have it
}

// NewTerms returns an empty Terms.
func NewTerms() *Terms { return &Terms{analyzer: newTextAnalyzer(), known: map[string]string{}} }

// Of returns a text's terms in order, with repetitions.
func (t *Terms) Of(text string) []string {
	tokens := t.analyzer.Analyze([]byte(text))
	spoken, _ := spokenIn(text, tokens)
	stemmed := t.analyzer.stem(tokens, spoken)
	all := make([]string, len(stemmed))
	for i, token := range stemmed {
		term, ok := t.known[string(token.Term)]
		if !ok {
			term = string(token.Term)
			t.known[term] = term
		}
		all[i] = term
	}
	return all
}

// An Asked is a term of a query.
type Asked struct {
	Word      string   // as the query has it
	Spellings []string // a text with one of them has the term
	// Whole marks a compound, such as getCacheStats. Its parts are terms, too: it is another way to
	// match, not another demand.
	Whole bool
}

// Asked returns a query's distinct terms, in the languages so far, without stop words unless all
// are.
func (t *Terms) Asked(query string) []Asked { return t.asked(query, withoutStopWords) }

// Demanded is Asked with all stop words: without them, "not tabs" would be "tabs".
func (t *Terms) Demanded(query string) []Asked {
	return t.asked(query, func(all analysis.TokenStream, _ []*language) analysis.TokenStream { return all })
}

func (t *Terms) asked(query string, wanted func(analysis.TokenStream, []*language) analysis.TokenStream) []Asked {
	var spoken []*language
	for _, l := range byWords { // in a fixed order
		if t.analyzer.stems[l] != nil {
			spoken = append(spoken, l)
		}
	}
	var all []Asked
	for _, term := range termsOf(query, spoken, wanted) {
		asked := Asked{Word: term.word, Whole: term.whole}
		for _, spelling := range term.spellings {
			asked.Spellings = append(asked.Spellings, string(spelling))
		}
		all = append(all, asked)
	}
	return all
}
