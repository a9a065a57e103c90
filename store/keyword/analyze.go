package keyword

import "cmp"

// longest bounds a term, in bytes. Longer words are cut; longer compounds have only their parts.
const longest = 128

// A token is a word of a text, in lower case, folded and perhaps stemmed.
type token struct {
	start, end int // of the word in the folded text
	term       []byte
	whole      bool // a compound, whose parts are tokens, too
}

// analyze returns the unstemmed words of a text.
func analyze(text []byte, l lexer) []*token { return l.tokenize(folding{}.fold(text)) }

// analyzeQuery leaves out single letters of scripts without spaces: pairs are more specific. parse
// stems and drops stop words.
func analyzeQuery(query string) []*token { return analyze([]byte(query), lexer{}) }

// A textAnalyzer caches stems. It is not safe for concurrent use.
type textAnalyzer struct {
	stems map[*language]map[string][]byte // stemming costs ten times a look-up
}

func newTextAnalyzer() *textAnalyzer {
	return &textAnalyzer{stems: map[*language]map[string][]byte{}}
}

// words returns the unstemmed words of a text.
func (a *textAnalyzer) words(text string) []*token {
	return analyze([]byte(text), lexer{characters: true})
}

// spokenIn returns the language that stems a text, English if it is not known, and the ISO 639-1
// name of its own: "en" if it is not known, Undetermined if it is another than English.
func spokenIn(text string, unstemmed []*token) (stemmed *language, name string) {
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

func (a *textAnalyzer) stem(tokens []*token, l *language) []*token {
	known := a.stems[l]
	if known == nil {
		known = map[string][]byte{}
		a.stems[l] = known
	}
	for _, t := range tokens {
		stem, ok := known[string(t.term)]
		if !ok {
			stem = l.stemOf(t.term)
			known[string(t.term)] = stem
		}
		t.term = stem
	}
	return tokens
}
