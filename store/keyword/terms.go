package keyword

// A Terms makes of texts the terms that an Index would, for those who compare a few texts without one. It is for one goroutine, and faster the more it
// has seen.
type Terms struct {
	analyzer *textAnalyzer
	known    map[string]string // one string a term, however many texts have it
}

// NewTerms returns one that has seen nothing.
func NewTerms() *Terms { return &Terms{analyzer: newTextAnalyzer(), known: map[string]string{}} }

// Of returns the terms of a text in their order, as often as they occur.
func (t *Terms) Of(text string) []string {
	tokens := t.analyzer.Analyze([]byte(text))
	stemmed := t.analyzer.stem(tokens, spokenIn(tokens))
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

// An Asked term is one that a query asks for.
type Asked struct {
	Word      string   // as the query has it
	Spellings []string // a text that has one of them has the term
	// Whole is set if it stands for a compound, such as getCacheStats, whose parts are asked for as well: a further chance to match, not a further demand.
	Whole bool
}

// Asked returns the terms of a query, each once, spelled as the texts seen so far may have them. Stop words are left out, unless there is nothing else.
func (t *Terms) Asked(query string) []Asked {
	var spoken []*language
	for _, l := range byWords { // in a set order
		if t.analyzer.stems[l] != nil {
			spoken = append(spoken, l)
		}
	}
	var all []Asked
	for _, term := range parse(query, spoken) {
		asked := Asked{Word: term.word, Whole: term.whole}
		for _, spelling := range term.spellings {
			asked.Spellings = append(asked.Spellings, string(spelling))
		}
		all = append(all, asked)
	}
	return all
}
