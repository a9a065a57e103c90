package keyword

import (
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// longest is the size in bytes above which a word is cut and a compound is not kept whole: a line
// of base64 must not become one huge term.
const longest = 128

// The analyzers of texts and of queries make the same terms of the same word; that is what lets a
// query find a text. They differ in what a query can do without: stop words, and single letters or
// syllables inside a run of Korean or the like, whose pairs say more. An analyzer is for one goroutine; it is
// faster the more it has seen.
func newTextAnalyzer() analysis.Analyzer {
	return &analysis.DefaultAnalyzer{
		CharFilters:  []analysis.CharFilter{folding{}},
		Tokenizer:    lexer{characters: true},
		TokenFilters: []analysis.TokenFilter{stemming{}},
	}
}

func newQueryAnalyzer() analysis.Analyzer {
	return &analysis.DefaultAnalyzer{
		CharFilters:  []analysis.CharFilter{folding{}},
		Tokenizer:    lexer{},
		TokenFilters: []analysis.TokenFilter{stopping{}, stemming{}},
	}
}

// stemming reduces English words to their stems. Only tokens of the letters a to z are touched:
// names with digits or dots mean exactly themselves. A word of another language in those letters
// is shortened too, in texts and queries alike, so it is still found. It holds the stems of the
// words it has seen: texts repeat their words, and stemming costs ten times a look-up.
type stemming map[string][]byte

func (known stemming) Filter(tokens analysis.TokenStream) analysis.TokenStream {
	for _, token := range tokens {
		if !stemmable(token.Term) {
			continue
		}
		stem, ok := known[string(token.Term)]
		if !ok {
			env := snowballstem.NewEnv(string(token.Term))
			english.Stem(env)
			stem = []byte(env.Current())
			known[string(token.Term)] = stem
		}
		token.Term = stem
	}
	return tokens
}

func stemmable(term []byte) bool {
	for _, c := range term {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return len(term) > 2
}

// stopping drops stop words, unless there is nothing else.
type stopping struct{}

func (stopping) Filter(tokens analysis.TokenStream) analysis.TokenStream {
	var kept analysis.TokenStream
	for _, token := range tokens {
		if !stopWords[string(token.Term)] {
			kept = append(kept, token)
		}
	}
	if len(kept) == 0 {
		return tokens
	}
	return kept
}
