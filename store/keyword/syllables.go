package keyword

import (
	"strings"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"golang.org/x/text/unicode/norm"
)

// An analyzer splits a folded text into tokens. A word with a letter that Vietnamese alone has is a
// token with its accents, too. Its words are syllables, of which folding makes many equal: thể,
// thế, thề and thê are four words. The folded token still finds what is typed without accents.
type analyzer struct{ analysis.DefaultAnalyzer }

func newAnalyzer(l lexer) analyzer {
	return analyzer{analysis.DefaultAnalyzer{CharFilters: []analysis.CharFilter{folding{}}, Tokenizer: l}}
}

// Analyze implements analysis.Analyzer. Tokens with accents come last and have no place in the
// text; being compounds, they are another way to match, not another demand.
func (a analyzer) Analyze(text []byte) analysis.TokenStream {
	tokens := a.DefaultAnalyzer.Analyze(text)
	if isASCII(text) {
		return tokens
	}
	for _, word := range strings.FieldsFunc(norm.NFC.String(string(text)), func(r rune) bool { return !unicode.Is(unicode.Latin, r) }) {
		if strings.ContainsFunc(word, isVietnamese) {
			tokens = append(tokens, &analysis.Token{Term: []byte(strings.ToLower(word)), Position: len(tokens) + 1, KeyWord: true})
		}
	}
	return tokens
}

// isVietnamese reports whether Vietnamese alone has a letter. Romanian has ă, Croatian đ.
func isVietnamese(r rune) bool {
	return r >= 0x1EA0 && r <= 0x1EF9 || strings.ContainsRune("ơƠưƯ", r)
}
