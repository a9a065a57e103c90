package relevance

import (
	_ "embed"
	"math"
	"math/bits"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// commonWords are the 6,000 commonest English words, from the vocabulary of BERT (uncased,
// Apache-2.0), the commonest first; "-" stands for one that is no word.
//
//go:embed words.txt
var commonWords string

// commonness is the share of chunks that hold a word, in memories at large.
var commonness = sync.OnceValue(func() map[string]float64 {
	places := map[string]float64{}
	place := 0.0
	for word := range strings.Lines(commonWords) {
		place++
		places[strings.TrimSuffix(word, "\n")] = min(ofTheFirst/place, 0.5)
	}
	return places
})

const (
	ofTheFirst = 8.0               // how much commoner words are than one chunk each, by Zipf's law
	uncommon   = ofTheFirst / 40e3 // of a word that is not in the list
	// ofPair is what a pair of characters says of what a word would: pairs overlap, and which of
	// them are common is not known.
	ofPair = 0.4
	// atLarge is how many chunks of memories at large count beside those of this one. In a memory
	// of ten chunks no word is rare; how rare it is elsewhere says whether it means something that
	// a chunk holds it.
	atLarge = 200
)

// weigh returns how much each word of a question says, and all together. A compound that memory
// does not hold says nothing beside its parts.
func weigh(q Query) (weights []float64, total float64) {
	weights = make([]float64, len(q.Words))
	for i, w := range q.Words {
		if w.Compound && w.Records == 0 {
			continue
		}
		holders := float64(w.Records) + atLarge*shareOf(w.Text)
		weights[i] = math.Log(max(float64(max(q.Chunks, w.Records))+atLarge, holders) / holders)
		if r, _ := utf8.DecodeRuneInString(w.Text); unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			weights[i] *= ofPair
		}
		total += weights[i]
	}
	return weights, total
}

// shareOf is the commonness of a word, in any of its commonest forms.
func shareOf(word string) float64 {
	word = strings.ToLower(word)
	known := commonness()
	for _, ending := range []string{"", "s", "es", "ed", "ing", "d"} {
		if stem, ok := strings.CutSuffix(word, ending); ok {
			if share, ok := known[stem]; ok {
				return share
			}
		}
	}
	return uncommon
}

// A holding is what a candidate holds of the words of a question.
type holding struct {
	mass  float64 // weight of the words; those that only the turns around it hold count half
	share float64 // of the weight of all
}

func holdings(q Query, ranked []Ranked) []holding {
	all := make([]holding, len(ranked))
	weights, total := weigh(q)
	if total == 0 {
		return all
	}
	for i, r := range ranked {
		mass := (massOf(weights, r.Holds) + massOf(weights, r.Holds|r.Near)) / 2
		all[i] = holding{mass, Share(mass, total)}
	}
	return all
}

func massOf(weights []float64, held uint64) (mass float64) {
	for ; held != 0; held &= held - 1 {
		if i := bits.TrailingZeros64(held); i < len(weights) {
			mass += weights[i]
		}
	}
	return mass
}

// unknown returns the share of a question's names that memory holds nowhere, and how many of its
// numbers. A name is a word with a capital that does not begin a sentence.
func unknown(q Query) (names, numbers float64) {
	var all float64
	rest, before := q.Text, ""
	for _, w := range q.Words {
		at := strings.Index(rest, w.Text)
		if at < 0 {
			continue
		}
		before, rest = before+rest[:at], rest[at+len(w.Text):]
		first, _ := utf8.DecodeRuneInString(w.Text)
		switch {
		case unicode.IsDigit(first) && w.Records == 0:
			numbers++
		case unicode.IsUpper(first) && !beginsSentence(before):
			all++
			if w.Records == 0 {
				names++
			}
		}
		before += w.Text
	}
	if all > 0 {
		names /= all
	}
	return names, min(numbers, mostUnknown)
}

func beginsSentence(before string) bool {
	before = strings.TrimRightFunc(before, unicode.IsSpace)
	return before == "" || strings.ContainsAny(before[len(before)-1:], `.!?:"`)
}
