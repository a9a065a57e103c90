package keyword

import (
	"cmp"

	"github.com/blevesearch/bleve/v2/analysis"
)

// longest bounds a term, in bytes. Longer words are cut; longer compounds have only their parts.
const longest = 128

// newQueryAnalyzer drops stop words, and single letters of scripts without spaces: pairs are more
// specific. parse stems.
func newQueryAnalyzer() analysis.Analyzer {
	return newAnalyzer(lexer{})
}

// A textAnalyzer caches stems. It is not safe for concurrent use.
type textAnalyzer struct {
	analyzer
	stems map[*language]map[string][]byte // stemming costs ten times a look-up
}

func newTextAnalyzer() *textAnalyzer {
	return &textAnalyzer{
		analyzer: newAnalyzer(lexer{characters: true}),
		stems:    map[*language]map[string][]byte{},
	}
}

// spokenIn returns the language that stems a text, English if it is not known, and the ISO 639-1
// name of its own: "en" if it is not known, Undetermined if it is another than English.
func spokenIn(text string, unstemmed analysis.TokenStream) (stemmed *language, name string) {
	const enough = 3 // function words; many texts have a foreign name or two
	stemmed, name = english, english.name
	letters, found := latinOf(text), languagesOf(unstemmed, enough)
	switch {
	case letters.areVietnamese(): // folded, its words are those of others
		name = "vi"
	case len(found) > 0:
		stemmed, name = found[0], found[0].name
	case letters.areForeign() && englishWords(unstemmed) < 2:
		name = Undetermined
	}
	return stemmed, cmp.Or(languageOfScript(text), name)
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
