package relevance

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Names are the terms of a sum, in the order of Evidence.
var Names = []string{
	"keywords",       // BM25 ÷ best BM25
	"document",       // BM25 of the whole document ÷ that of the best document
	"cosine",         // 1 for the nearest, 0 for the nearth nearest, no less than -1
	"documentCosine", // the best cosine term in the same document
	"answerKind",     // 1 if the question asks when or how many, and the text says a time or a number
	"firstPerson",    // 1 if a turn speaks of the one who says it
	"otherSpeaker",   // 1 if the question names a speaker, and somebody else says it
	"assistant",      // 1 if an assistant or a tool says it
	"question",       // 1 if a turn asks something itself
	"afterQuestion",  // 1 if the turn before asks something
	"turnLength",     // ln of the tokens of a turn
	"chunkLength",    // ln of the tokens of any other chunk
	"time",           // Timely
}

// IsEvidence tells the terms whose weight is never below 0 from those that are properties of a chunk, for which the data decides.
func IsEvidence(name string) bool {
	return name == "time" || slices.Index(Names, name) < slices.Index(Names, "otherSpeaker")
}

// near is which of the nearest neighbours has a cosine term of 0: it stands for what is only near by chance, so that the
// term does not depend on the scale of an embedder's cosines.
const near = 50

// Evidence returns the terms of each candidate, in the order of Names.
func Evidence(q Query, candidates []Candidate) [][]float64 {
	best := 0.0
	var cosines []float64
	for _, c := range candidates {
		best = max(best, c.BM25)
		if q.Vectors && c.Cosine != nil {
			cosines = append(cosines, *c.Cosine)
		}
	}
	slices.SortFunc(cosines, func(a, b float64) int { return cmp.Compare(b, a) })
	relative := relativeCosine(cosines)
	asked, speaking := askedKind(q.Text), namedIn(q.Text, candidates)
	all := make([][]float64, len(candidates))
	nearest := map[string]float64{}
	for i, c := range candidates {
		cosine := 0.0
		if q.Vectors && c.Cosine != nil {
			cosine = relative(*c.Cosine)
		}
		if known, ok := nearest[c.Path]; !ok || cosine > known {
			nearest[c.Path] = cosine
		}
		e := []float64{Share(c.BM25, best), Share(c.Document, q.BestDocument), cosine, 0, yes(asked != 0 && tells(c.Text, asked)), 0, 0, 0, 0, 0, 0, 0, c.Timely}
		length := math.Log(float64(max(c.Tokens, 1)))
		if c.Turn {
			e[5] = yes(ofOneself(c.Text))
			e[6] = yes(len(speaking) > 0 && isName(c.Speaker) && !speaking[c.Speaker])
			e[7] = yes(c.Speaker == "assistant" || c.Speaker == "tool")
			e[8] = yes(asks(c.Text))
			e[9] = yes(asks(c.Before))
			e[10] = length
		} else {
			e[11] = length
		}
		all[i] = e
	}
	for i, c := range candidates {
		all[i][3] = nearest[c.Path]
	}
	return all
}

// relativeCosine returns the cosine term as a function of the cosine, given all cosines, best first.
func relativeCosine(cosines []float64) func(float64) float64 {
	if len(cosines) == 0 {
		return func(float64) float64 { return 0 }
	}
	top, chance := cosines[0], cosines[min(near, len(cosines))-1]
	if top-chance < 1e-6 {
		chance = top - 1
	}
	return func(cosine float64) float64 { return max((cosine-chance)/(top-chance), -1) }
}

func yes(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func asks(text string) bool { return strings.ContainsAny(text, "?？؟") }

// isName tells names from the roles that every conversation with an agent has.
func isName(speaker string) bool {
	return speaker != "" && speaker != "user" && speaker != "assistant" && speaker != "tool"
}

// namedIn returns the speakers whom a question names, by any word of their name.
func namedIn(question string, candidates []Candidate) map[string]bool {
	named := map[string]bool{}
	var asked map[string]bool
	for _, c := range candidates {
		if !c.Turn || !isName(c.Speaker) {
			continue
		}
		if asked == nil {
			asked = map[string]bool{}
			eachWord(question, func(word string) bool { asked[word] = true; return true })
		}
		eachWord(c.Speaker, func(word string) bool {
			if asked[word] {
				named[c.Speaker] = true
			}
			return true
		})
	}
	return named
}

// eachWord calls do for each word of text, in small letters, until it returns false.
func eachWord(text string, do func(word string) bool) {
	start := -1
	for at, r := range text {
		if inside := unicode.IsLetter(r) || unicode.IsDigit(r); inside == (start >= 0) {
			continue
		} else if inside {
			start = at
			continue
		}
		if !do(strings.ToLower(text[start:at])) {
			return
		}
		start = -1
	}
	if start >= 0 {
		do(strings.ToLower(text[start:]))
	}
}

// A kind is what a question asks for.
type kind int

const (
	aTime kind = 1 << iota
	aNumber
)

// askedKind tells what an English question asks for; 0 if that is neither a time nor a number.
func askedKind(question string) (asked kind) {
	before := ""
	eachWord(question, func(word string) bool {
		switch {
		case word == "when", before == "how" && (word == "long" || word == "recently"), before == "what" && timeUnits[word]:
			asked |= aTime
		case before == "how" && (word == "many" || word == "much" || word == "often" || word == "old"):
			asked |= aNumber
		}
		before = word
		return true
	})
	return asked
}

// tells whether a text says something of the kind.
func tells(text string, asked kind) (does bool) {
	eachWord(text, func(word string) bool {
		digit := word[0] >= '0' && word[0] <= '9'
		year := len(word) == 4 && digit && (word[:2] == "19" || word[:2] == "20")
		does = asked&aTime != 0 && (year || timeWords[word]) || asked&aNumber != 0 && (digit || numbers[word])
		return !does
	})
	return does
}

// ofOneself tells whether a text speaks of who says it.
func ofOneself(text string) (does bool) {
	eachWord(text, func(word string) bool {
		does = oneself[word]
		return !does
	})
	return does
}

var (
	timeUnits = setOf("time date day month year")
	timeWords = setOf(`yesterday today tonight tomorrow ago recently just last next
		weekend week weeks month months year years summer winter spring autumn
		january february march april june july august september october november december
		monday tuesday wednesday thursday friday saturday sunday`)
	numbers = setOf("one two three four five six seven eight nine ten dozen hundred couple several few")
	oneself = setOf("i my mine me we our ours")
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}
