package keyword

import (
	"embed"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	english_ "github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// A language stems folded words by Snowball.
type language struct {
	name string // ISO 639-1
	stem func(*snowballstem.Env) bool
}

// stopWordLists are lists of function words, mostly Snowball's, as Bleve has them. Their first
// lines name origin and licence. Bleve's packages of languages, which hold them too, would bring
// its index, bbolt and geometry into every program that imports memcore.
//
//go:embed stopwords
var stopWordLists embed.FS

func stopWordsOf(language string) []byte {
	list, err := stopWordLists.ReadFile("stopwords/" + language + ".txt")
	if err != nil {
		panic(err) // the program contains them
	}
	return list
}

// english also serves names, code and short texts.
var english = &language{name: "en", stem: english_.Stem}

// byScript has each script's most spoken language. Its rules serve the others, such as Ukrainian.
var byScript = []struct {
	script *unicode.RangeTable
	language
}{
	{unicode.Cyrillic, language{"ru", russian.Stem}},
	{unicode.Arabic, language{"ar", arabic.Stem}},
}

// byWords are recognised by function words.
var byWords = []*language{
	{"de", german.Stem},
	{"fr", french.Stem},
	{"es", spanish.Stem},
	{"it", italian.Stem},
	{"pt", portuguese.Stem},
	{"nl", dutch.Stem},
	{"sv", swedish.Stem},
	{"da", danish.Stem},
	{"no", norwegian.Stem},
	{"fi", finnish.Stem},
	{"ro", romanian.Stem},
	{"hu", hungarian.Stem},
	{"tr", turkish.Stem},
}

func languageOf(name string) *language {
	for _, l := range byWords {
		if l.name == name {
			return l
		}
	}
	return nil
}

// functionWords returns a bit set of byWords for each word; bit len(byWords) is English.
var functionWords = sync.OnceValue(func() map[string]uint32 {
	all := map[string]uint32{}
	for i, l := range byWords {
		for word := range stopList(stopWordsOf(l.name)) {
			all[word] |= 1 << i
		}
	}
	for word := range stopWords {
		all[word] |= 1 << len(byWords)
	}
	return all
})

// scriptStops are function words of byScript, none of two languages.
var scriptStops = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, s := range byScript {
		for word := range stopList(stopWordsOf(s.name)) {
			all[word] = true
		}
	}
	return all
})

// stopList returns the folded words of a list in Snowball's format.
func stopList(list []byte) map[string]bool {
	words := analysis.NewTokenMap()
	if err := words.LoadBytes(list); err != nil {
		panic(err) // the program contains the list
	}
	folded := make(map[string]bool, len(words))
	for word := range words {
		folded[string(folding{}.Filter([]byte(word)))] = true
	}
	return folded
}

// languagesOf returns the languages but English with the most function words, at least enough;
// several if equal.
func languagesOf(tokens analysis.TokenStream, enough int) []*language {
	counts := make([]int, len(byWords)+1)
	for _, token := range tokens {
		set := functionWords()[string(token.Term)]
		for i := 0; set != 0; i, set = i+1, set>>1 {
			counts[i] += int(set & 1)
		}
	}
	most := slices.Max(counts)
	if most < enough || counts[len(byWords)] == most {
		return nil
	}
	var found []*language
	for i, l := range byWords {
		if counts[i] == most {
			found = append(found, l)
		}
	}
	return found
}

// scripts have their most spoken language. Those of byScript also stem words.
var scripts = []struct {
	script *unicode.RangeTable
	name   string
}{
	{unicode.Cyrillic, "ru"}, {unicode.Arabic, "ar"}, {unicode.Han, "zh"}, {unicode.Hiragana, "ja"}, {unicode.Katakana, "ja"}, {unicode.Hangul, "ko"},
	{unicode.Greek, "el"}, {unicode.Hebrew, "he"}, {unicode.Thai, "th"}, {unicode.Devanagari, "hi"}, {unicode.Bengali, "bn"}, {unicode.Tamil, "ta"},
	{unicode.Telugu, "te"}, {unicode.Georgian, "ka"}, {unicode.Armenian, "hy"}, {unicode.Ethiopic, "am"}, {unicode.Khmer, "km"}, {unicode.Myanmar, "my"},
}

// languageOfScript returns the language of a text that is mostly not in Latin letters, or "".
func languageOfScript(text string) string {
	counts := map[string]int{}
	latin, others := 0, 0
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r):
		case r <= unicode.MaxLatin1 || unicode.Is(unicode.Latin, r):
			latin++
		default:
			others++
			counts[languageOfLetter(r)]++
		}
	}
	delete(counts, "")
	weight := 1
	if counts["zh"]+counts["ja"]+counts["ko"] > 0 {
		weight = 3 // a character is about a word's third
	}
	if weight*others <= latin {
		return ""
	}
	if counts["ja"] > 0 && 10*counts["ja"] >= counts["zh"] {
		return "ja" // which mixes both
	}
	most := ""
	for _, s := range scripts {
		if counts[s.name] > counts[most] {
			most = s.name
		}
	}
	return most
}

func languageOfLetter(r rune) string {
	for _, s := range scripts {
		if unicode.Is(s.script, r) {
			return s.name
		}
	}
	return ""
}

// LanguageOf returns the language of a stored text by its script, letters or function words: "en"
// if it is not known, Undetermined if it is another than English.
func (ix *Index) LanguageOf(text string) string { return textLanguage(text) }

func textLanguage(text string) string {
	_, name := spokenIn(text, newQueryAnalyzer().Analyze([]byte(text)))
	return name
}

// A latin counts Latin letters: those that English lacks, and those that Vietnamese alone has.
type latin struct{ all, foreign, vietnamese int }

func latinOf(text string) (l latin) {
	for _, r := range text {
		if !unicode.Is(unicode.Latin, r) {
			continue
		}
		l.all++
		if r <= unicode.MaxASCII {
			continue
		}
		l.foreign++
		if isVietnamese(r) || strings.ContainsRune("ăĂđĐ", r) {
			l.vietnamese++
		}
	}
	return l
}

// areVietnamese is asked before folding: "thế" is not "the".
func (l latin) areVietnamese() bool { return l.vietnamese > 2 && 10*l.vietnamese > l.all }

func (l latin) areForeign() bool { return l.foreign > 1 && 20*l.foreign >= l.all }

func englishWords(tokens analysis.TokenStream) (n int) {
	for _, token := range tokens {
		n += int(functionWords()[string(token.Term)] >> len(byWords) & 1)
	}
	return n
}

// Undetermined is "not English" (ISO 639-2).
const Undetermined = "und"

// LanguageOf returns the language of a query (ISO 639-1), or "" for English. If script or words
// show only that it is not English, that is Undetermined. A single word counts only with a letter
// that English lacks: "war file" is not German.
func LanguageOf(query string) string {
	query = query[:min(len(query), maxQuery)]
	if name := languageOfScript(query); name != "" {
		return name
	}
	letters := latinOf(query)
	if letters.areVietnamese() {
		return "vi"
	}
	tokens := newQueryAnalyzer().Analyze([]byte(query))
	enough := 2
	if letters.foreign > 0 {
		enough = 1
	}
	switch found := languagesOf(tokens, enough); {
	case len(found) == 1:
		return found[0].name
	case len(found) > 1:
		return Undetermined
	}
	if letters.areForeign() && englishWords(tokens) < 2 {
		return Undetermined
	}
	return ""
}

// withoutStopWords drops stop words, also English ones, unless all are.
func withoutStopWords(tokens analysis.TokenStream, languages []*language) analysis.TokenStream {
	drop := uint32(1) << len(byWords)
	for i, l := range byWords {
		if slices.Contains(languages, l) {
			drop |= 1 << i
		}
	}
	var kept analysis.TokenStream
	for _, token := range tokens {
		if functionWords()[string(token.Term)]&drop == 0 && !scriptStops()[string(token.Term)] {
			kept = append(kept, token)
		}
	}
	if len(kept) == 0 {
		return tokens
	}
	return kept
}

// stemOf prefers the language of the word's script. It does not stem names with digits or dots.
func (l *language) stemOf(word []byte) []byte {
	if len(word) <= 2 {
		return word
	}
	stem := l.stem
	for rest := word; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if !unicode.IsLetter(r) || unspaced(r) {
			return word
		}
		rest = rest[size:]
	}
	if word[0] >= utf8.RuneSelf {
		r, _ := utf8.DecodeRune(word)
		for _, s := range byScript {
			if unicode.Is(s.script, r) {
				stem = s.stem
			}
		}
	}
	env := snowballstem.NewEnv(string(word))
	stem(env)
	return []byte(env.Current())
}
