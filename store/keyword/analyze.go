package keyword

import (
	"github.com/blevesearch/bleve/v2/analysis"
)

// longest is the size in bytes above which a word is cut and a compound is not kept whole: a line
// of base64 must not become one huge term.
const longest = 128

// The analyzers of texts and of queries make the same terms of the same word; that is what lets a
// query find a text. They differ in what a query can do without: stop words, and single letters or
// syllables inside a run of Korean or the like, whose pairs say more; and in that the words of a query
// are stemmed by parse, since it may be asking in several languages.
func newQueryAnalyzer() analysis.Analyzer {
	return &analysis.DefaultAnalyzer{CharFilters: []analysis.CharFilter{folding{}}, Tokenizer: lexer{}}
}

// A textAnalyzer is for one goroutine; it is faster the more it has seen.
type textAnalyzer struct {
	analysis.DefaultAnalyzer
	stems map[*language]map[string][]byte // texts repeat their words, and stemming costs ten times a look-up
}

func newTextAnalyzer() *textAnalyzer {
	return &textAnalyzer{
		DefaultAnalyzer: analysis.DefaultAnalyzer{CharFilters: []analysis.CharFilter{folding{}}, Tokenizer: lexer{characters: true}},
		stems:           map[*language]map[string][]byte{},
	}
}

// spokenIn returns the language of the words of a text, before they are stemmed; English if it cannot be told.
func spokenIn(tokens analysis.TokenStream) *language {
	const enough = 3 // function words; a name or two of another language are in many texts
	if found := languagesOf(tokens, enough); len(found) > 0 {
		return found[0]
	}
	return english
}

// stem makes terms of the words of a text that is in a language, in place.
func (a *textAnalyzer) stem(tokens analysis.TokenStream, l *language) analysis.TokenStream {
	known := a.stems[l]
	if known == nil {
		known = map[string][]byte{}
		a.stems[l] = known
	}
	for _, token := range tokens {
		stem, ok := known[string(token.Term)]
		if !ok {
			stem = l.stemOf(token.Term)
			known[string(token.Term)] = stem
		}
		token.Term = stem
	}
	return tokens
}
