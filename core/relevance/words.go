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

// commonWords are the 6,000 commonest English words, commonest first, from BERT's vocabulary
// (uncased, Apache-2.0); "-" is a place without a word.
//
//go:embed words.txt
var commonWords string

// commonness is a word's share of chunks, in memories at large.
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
	// ofPair weighs a pair of unspaced characters against a word: pairs overlap.
	ofPair = 0.4
	// atLarge chunks elsewhere count: in ten chunks no word is rare.
	atLarge = 200
)

// weigh returns how much each word says, and the total. A compound that memory lacks counts by its
// parts.
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

// shareOf is a word's commonness in any form.
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

// A holding is what a candidate holds of a question's words.
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
		mass := (MassOf(weights, r.Holds) + MassOf(weights, r.Holds|r.Near)) / 2
		all[i] = holding{mass, Share(mass, total)}
	}
	return all
}

func MassOf(weights []float64, held uint64) (mass float64) {
	for ; held != 0; held &= held - 1 {
		if i := bits.TrailingZeros64(held); i < len(weights) {
			mass += weights[i]
		}
	}
	return mass
}

// unknown returns the share of names, and how many numbers, memory lacks. A name is capitalised
// within a sentence.
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
	return names, min(numbers, maxUnknown)
}

func beginsSentence(before string) bool {
	before = strings.TrimRightFunc(before, unicode.IsSpace)
	return before == "" || strings.ContainsAny(before[len(before)-1:], `.!?:"`)
}
