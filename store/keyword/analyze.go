package keyword

import (
	"github.com/blevesearch/bleve/v2/analysis"
)

// longest bounds a term, in bytes. Longer words are cut; longer compounds have only their parts.
const longest = 128

// newQueryAnalyzer drops stop words, and single letters of scripts without spaces: pairs are more
// specific. parse stems.
func newQueryAnalyzer() analysis.Analyzer {
	return &analysis.DefaultAnalyzer{CharFilters: []analysis.CharFilter{folding{}}, Tokenizer: lexer{}}
}

// A textAnalyzer caches stems. It is not safe for concurrent use.
type textAnalyzer struct {
	analysis.DefaultAnalyzer
	stems map[*language]map[string][]byte // stemming costs ten times a look-up
}

func newTextAnalyzer() *textAnalyzer {
	return &textAnalyzer{
		DefaultAnalyzer: analysis.DefaultAnalyzer{CharFilters: []analysis.CharFilter{folding{}}, Tokenizer: lexer{characters: true}},
		stems:           map[*language]map[string][]byte{},
	}
}

// spokenIn returns the language by which a text is stemmed, from its unstemmed words; English if it
// is not known.
func spokenIn(text string, tokens analysis.TokenStream) *language {
	if latinOf(text).areVietnamese() {
		return english // folded, its words are those of others
	}
	const enough = 3 // function words; many texts have a foreign name or two
	if found := languagesOf(tokens, enough); len(found) > 0 {
		return found[0]
	}
	return english
}

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
